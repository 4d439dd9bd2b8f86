#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# organfs --list: a user's mounts, or all for root, with the changes in force and the outcome of an
# unmount. A dead or stopped daemon delays it only for a moment, and other users' mounts get no
# request.
. "${0%/*}/../lib.sh"

need jq setfattr
with_mount_helper
with_ordinary_user
unset XDG_STATE_HOME
cd "$TMP"
for name in stories260K stories260K-donor stories260K-q8_0; do
	use "$name" >/dev/null
done
base=$TMP/stories260K.gguf
"$GGUF" organ stories260K-donor.gguf blk.1.ffn_up.weight organ.bin

list() {
	"$@" timeout 20 organfs --list --json >list.json
}
# listed MOUNTPOINT FILTER VALUE: check the last list.
listed() {
	equal "$(jq -rc --arg point "$1" ".[] | select(.mountpoint == \$point) | $2" list.json)" \
		"$3" "$2 of $1 in $(cat list.json)"
}
state='[.state, .models, .grafts, .adapters, .merges, .unmount]'
# The attribute gives its user the same answer.
forecast() {
	getfattr --absolute-names --only-values -n user.organfs.unmount "$1"
}

equal "$(organfs --list)" '' 'a list of nothing'
list
equal "$(jq -c . list.json)" '[]'

# There is nothing to write before a change, or in a mount that writes nothing.
organfs "$base" "$MNT"
organfs -o ro stories260K-donor.gguf donor
list
listed "$MNT" "$state" '["ok",1,0,0,0,null]'
listed "$MNT" '.pid' "$(daemon_of "$MNT")"
listed "$MNT" '.base' "$base"
listed "$TMP/donor" "$state" '["ok",1,0,0,0,null]'
cp organ.bin "$MNT/organs/blk_1_ffn_up.bin"
size=$(stat -c %s "$MNT/model.gguf")
file=$TMP/stories260K.grafted.gguf
writes() {
	echo "[\"ok\",1,$1,$2,$3,{\"file\":\"$file\",\"files\":1,\"bytes\":$size}]"
}
list
listed "$MNT" "$state" "$(writes 1 0 0)"
equal "$(forecast "$MNT")" \
	"models=1 grafts=1 adapters=0 merges=0 files=1 bytes=$size path=$file"
setfattr -n user.organfs.noassemble -v 1 "$MNT"
list
listed "$MNT" "$state" '["ok",1,1,0,0,null]'
setfattr -x user.organfs.noassemble "$MNT"

# An adapter and a merge are changes. An assembled model is not written again.
"$LORA" make "$base" style.gguf '*.attn_q.weight' >/dev/null
ln -s "$TMP/style.gguf" "$MNT/adapters/"
list
listed "$MNT" '[.adapters, .merges]' '[1,0]'
cat >merge.yml <<'END'
merge_method: linear
models:
- {model: stories260K, parameters: {weight: 1}}
- {model: stories260K-donor, parameters: {weight: 1}}
END
cp merge.yml "$MNT/.merge"
list
listed "$MNT" '[.grafts > 0, .adapters, .merges, .unmount.files]' '[true,1,1,1]'
echo "$file" >"$MNT/.assemble"
list
listed "$MNT" '[.state, .merges, .unmount]' '["ok",1,null]'

# Several models are one line, and one each if their directories are asked.
organfs -o output="$TMP" "$base" stories260K-q8_0.gguf both
cp organ.bin both/stories260K-q8_0/organs/blk_1_ffn_up.bin
list
listed "$TMP/both" '[.models, .grafts, .unmount.files]' '[2,1,1]'
listed "$TMP/both" '.unmount.file' "$TMP/stories260K-q8_0.grafted.gguf"
case $(forecast both/stories260K) in
'models=1 grafts=0 '*' files=0 bytes=0') ;;
*) fail "$(forecast both/stories260K)" ;;
esac
expect_fail 'not permitted' setfattr -n user.organfs.noassemble -v 1 both/stories260K
expect_fail 'invalid' setfattr -n user.organfs.noassemble -v 0 both

# The table is aligned for any name.
odd=$TMP/$'a  b\n\e[2J'
organfs -o ro "$base" "$odd"
organfs --list >table
equal "$(wc -l <table)" 5 "lines of $(cat table)"
! grep -q $'\e' table || fail 'an escape goes to the terminal'
grep -Eq "^$TMP/both +ok +[0-9]+ +1 +0 +0 +$base \(2 models\) +/.* \([0-9]+ bytes\)$" table ||
	fail "$(cat table)"
list
listed "$odd" .state ok
umount "$odd"

# Another user sees his own mounts; root sees all, even without access.
cp "$base" "$TMP/home/m.gguf"
chown "$ORDINARY:$ORDINARY" "$TMP/home/m.gguf"
as_user organfs "$TMP/home/m.gguf" "$TMP/home/mnt"
as_user cp organ.bin "$TMP/home/mnt/organs/blk_1_ffn_up.bin"
list as_user
equal "$(jq -r '.[].mountpoint' list.json)" "$TMP/home/mnt"
listed "$TMP/home/mnt" '[.state, .grafts, .unmount.file]' \
	"[\"ok\",1,\"$TMP/home/m.grafted.gguf\"]"
list
equal "$(jq -r 'length' list.json)" 4
listed "$TMP/home/mnt" '[.state, .grafts, .pid]' "[\"ok\",1,$(daemon_of "$TMP/home/mnt" as_user)]"

# Dead and stopped daemons.
pid=$(daemon_of "$TMP/donor")
stopped=$(daemon_of "$TMP/home/mnt" as_user)
kill -9 "$pid"
until_true 60 is_gone "$pid" || late 'it does not die'
stop "$stopped"
list
listed "$TMP/donor" "$state" '["dead",null,null,null,null,null]'
listed "$TMP/home/mnt" "$state" '["busy",null,null,null,null,null]'
listed "$MNT" .state ok
kill -CONT "$stopped"
umount -i donor
umount "$TMP/home/mnt" both "$MNT"

# Unanswered questions to daemons wait together, not one after another.
mkdir silent silent{1..20}
python3 "$here/../tools/liar.py" silent 0 0 '' >ready 2>&1 &
silent=$!
until_true 60 grep -qs ready ready || late "no mount: $(cat ready)"
for i in {1..20}; do
	mount --bind silent silent$i
done
list
equal "$(jq -c 'map(.state) | unique' list.json)" '["busy"]'
kill -9 $silent
# The askers end with the list.
for i in silent{1..20} silent; do
	until_true 60 umount $i 2>/dev/null || late "$i is busy"
done

expect_fail 'takes no MODEL' organfs --list "$base"

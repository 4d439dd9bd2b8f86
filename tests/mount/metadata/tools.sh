#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# release: editors of others
# plain: tests programs of others
# Common tools for editing text, each used on metadata: one changed number, no other file, and
# model.gguf with that number.
. "${0%/*}/../lib.sh"
need vim ex nano rsync

base=$(use stories260K)
m=$MNT/metadata
key=llama.context_length
mount_model "$base"
names=$(ls -A "$m")

# now N TOOL: the key has N, and nothing else has changed.
now() {
	equal "$(cat "$m/$key")" "$1" "$2"
	"$GGUF" edit "$base" "$TMP/expected" "$key=uint32:$1"
	same "$MNT/model.gguf" "$TMP/expected"
	equal "$(ls -A "$m" | diff - <(echo "$names"))" '' "$2"
	equal "$(wc -l <"$MNT/.grafts")" 1 "lines in .grafts after $2"
}
# with_vim OPTIONS N M: replace N by M.
with_vim() {
	vim -es -u NONE -i NONE -c "set nocompatible backupskip= $1" -c "%s/$2/$3/" -c wq \
		"$m/$key" </dev/null || fail "vim with $1 ends with $?"
}

echo 1 >"$m/$key"
now 1 echo
sed -i s/1/2/ "$m/$key"
now 2 'sed -i'
sed -i.bak s/2/3/ "$m/$key"
equal "$(cat "$m/$key.bak")" 2
rm "$m/$key.bak"
now 3 'sed -i.bak'
with_vim '' 3 4
now 4 vim
with_vim 'nobackup nowritebackup' 4 5
now 5 'vim in place'
with_vim 'backup backupcopy=no' 5 6
equal "$(cat "$m/$key~")" 5
rm "$m/$key~"
now 6 'vim, backupcopy=no'
with_vim 'backupcopy=yes' 6 7
now 7 'vim, backupcopy=yes'
in_time 20 "$here/../tools/nano.py" "$m/$key" 71
now 71 nano
in_time 20 "$here/../tools/nano.py" "$m/$key" 72 --backup
equal "$(cat "$m/$key~")" 71
rm "$m/$key~"
now 72 'nano --backup'
printf '%%s/72/8/\nwq\n' | ex -s "$m/$key"
now 8 ex
# A key with a type of its own keeps it through an editor that renames the old file.
touch "$m/my.key"
setfattr -n user.organfs.type -v int16 "$m/my.key"
echo -5 >"$m/my.key"
vim -es -u NONE -i NONE -c 'set backupskip= backupcopy=no writebackup' -c '%s/5/6/' -c wq \
	"$m/my.key" </dev/null || fail "vim ends with $?"
equal "$(cat "$m/my.key")" -6
equal "$(getfattr --absolute-names --only-values -n user.organfs.type "$m/my.key")" int16
rm "$m/my.key"
# If the editor cannot write a value, the old one stays.
! vim -es -u NONE -i NONE -c 'set backupskip=' -c '%s/8/eight/' -c wq "$m/$key" </dev/null ||
	fail 'vim wrote junk'
rm -f "$m/$key~" # vim leaves the old text here
now 8 'vim that was refused'
echo 9 >"$TMP/file"
cp "$TMP/file" "$m/$key"
now 9 cp
echo 10 >"$TMP/file"
install "$TMP/file" "$m/$key"
now 10 install
echo 11 >"$TMP/file"
cp --remove-destination "$TMP/file" "$m/$key"
now 11 'cp --remove-destination'
echo 12 >"$TMP/file"
mv "$TMP/file" "$m/$key"
now 12 mv
python3 -c "open('$m/$key', 'w').write('13')"
now 13 python
echo 14 >"$TMP/$key"
touch -d '2024-01-01 14:00' "$TMP/$key"
rsync -a "$TMP/$key" "$m/"
now 14 rsync
equal "$(rsync -ai "$TMP/$key" "$m/")" '' 'rsync of the same'
echo 15 >"$TMP/$key"
touch -d '2024-01-01 15:00' "$TMP/$key"
rsync -a --inplace "$TMP/$key" "$m/"
now 15 'rsync --inplace'
echo 16 >"$TMP/$key"
tar -C "$TMP" -cf "$TMP/tar" "$key"
tar -C "$m" -xf "$TMP/tar"
now 16 tar
printf 17 | dd of="$m/$key" bs=1 seek=0 conv=notrunc status=none
now 17 dd
truncate -s 1 "$m/$key"
now 1 truncate

# Metadata come from another mount's directory, and back from a tar of all.
cp -r "$m" "$TMP/saved"
tar -C "$m" --xattrs -cf "$TMP/all.tar" .
cp -r "$MNT/.base/metadata/." "$m/"
equal "$(cat "$MNT/.grafts")" ''
rm "$m"/llama.*
tar -C "$m" --xattrs --xattrs-include='user.*' -xf "$TMP/all.tar"
now 1 'tar of all'
cp "$TMP/saved/"* "$m/"
now 1 'cp of all'
# Types travel with the attributes.
base_of_donor=$(use clerk-Q4_K_M)
mkdir "$TMP/donor"
mount_model -o ro "$base_of_donor" "$TMP/donor"
type_of() {
	getfattr --absolute-names --only-values -n user.organfs.type "$1"
}
for tool in 'cp -a' 'rsync -aX' 'rsync -aX --inplace'; do
	cp -r "$MNT/.base/metadata/." "$m/"
	rm "$m"/*
	$tool "$TMP/donor/metadata/." "$m/"
	for file in "$TMP/donor/metadata/"*; do
		same "$file" "$m/${file##*/}"
		equal "$(type_of "$m/${file##*/}")" "$(type_of "$file")" "$tool: $file"
	done
done
unmount_and_wait "$TMP/donor"
unmount_and_wait

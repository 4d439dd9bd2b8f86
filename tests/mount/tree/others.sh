#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Other users whom a user's daemon lets in can read the mount but change nothing, despite any mode
# bits, because the daemon would act with its user's rights.
. "${0%/*}/../lib.sh"

with_mount_helper
with_ordinary_user
unset XDG_STATE_HOME
OTHER=12345
echo user_allow_other >"$TMP/fuse.conf"
[ -e /etc/fuse.conf ] && mount --bind "$TMP/fuse.conf" /etc/fuse.conf || skip 'no /etc/fuse.conf'
home=$TMP/home
mnt=$home/mnt
base=$home/stories260K.gguf
cp "$MODELS/stories260K.gguf" "$base"
cp "$MODELS/stories260K-donor.gguf" "$home/donor.gguf"
"$LORA" make "$base" "$home/style.gguf" blk.0.attn_q.weight
"$GGUF" organ "$MODELS/stories260K-donor.gguf" blk.1.ffn_up.weight "$home/secret.bin"
echo "the owner's" >"$home/owners.gguf"
chown -R "$ORDINARY:$ORDINARY" "$home"
chmod 755 "$home"
chmod 600 "$home/secret.bin" "$home/owners.gguf" "$home/donor.gguf" "$base"
as_other() {
	setpriv --reuid $OTHER --regid $OTHER --clear-groups "$@"
}
lines() {
	as_user grep -c "refused: user $1 can only read" "$mnt/.log"
}

as_user organfs -o "noassemble,allow_other,uid=$OTHER,gid=$OTHER,umask=0" "$base" "$mnt" \
	</dev/null || fail 'the user cannot mount'
as_user ln -s "$home/style.gguf" "$mnt/adapters/"
as_user cp "$home/secret.bin" "$mnt/organs/.scratch"
as_user ln -s "$home/donor.gguf" "$mnt/.diff/link.gguf"
echo "{merge_method: passthrough, models: [{model: $home/donor.gguf}]}" >"$TMP/merge.yml"
as_user sh -c "cat >'$mnt/.merge'" <"$TMP/merge.yml"
as_user cat "$mnt/model.gguf" >"$TMP/model" && as_user cat "$mnt/.grafts" >"$TMP/grafts"

# Root counts as another user.
for uid in $OTHER 0; do
	before=$(lines $uid) || true
	in_time 60 "$here/../tools/stranger.py" "$mnt" $uid "$home/secret.bin" "$home/owners.gguf" \
		>"$TMP/tried" || fail "stranger.py: $(tail -n 3 "$TMP/tried")"
	! grep . "$TMP/tried" || fail "user $uid was not refused all that"
	[ "$(wc -l <"$TMP/tried")" -gt 150 ] || fail "only $(wc -l <"$TMP/tried") were tried"
	[ $(($(lines $uid) - before)) -ge 100 ] || fail "lines of user $uid: $(lines $uid)"
	for name in new.gguf link.gguf; do
		as_user grep -q "$name: refused: user $uid can only read" "$mnt/.log" ||
			fail "no line for .diff/$name"
	done
done
as_user tail -n 1 "$mnt/.log" | grep -q "refused: user 0 can only read" ||
	fail "the log: $(as_user tail -n 1 "$mnt/.log")"
equal "$(cat "$home/owners.gguf")" "the owner's" 'the file of the owner'
as_user cat "$mnt/.grafts" | cmp - "$TMP/grafts" || fail 'the grafts are others'
as_user cmp "$mnt/model.gguf" "$TMP/model"
absent "$mnt/organs/blk_9_ffn_up.bin"

# Other users can read everything.
as_other cmp "$mnt/model.gguf" "$TMP/model"
as_other cat "$mnt/organs/blk_0_ffn_up.bin" "$mnt/.theta" "$mnt/metadata/general.name" >"$TMP/read"
[ -s "$TMP/read" ] || fail 'nothing is read'
# Files beside the model, and targets of the user's links, stay closed to others.
expect_fail 'permission denied' as_other cat "$home/donor.gguf"
equal "$(as_other ls -A "$mnt/.diff" | wc -l)" 7
as_other grep -q '^mean  all' "$mnt/.diff/base" || fail '.diff/base is not read'
as_other awk -F '\t' '$7 == "no"' "$mnt/.diff/link.tsv" >"$TMP/differ"
[ -s "$TMP/differ" ] || fail '.diff/link.tsv is not read'
before=$(lines $OTHER)
expect_fail 'not permitted' as_other dd if=/dev/zero bs=1 count=1 conv=notrunc status=none \
	of="$mnt/.views/npy/organs/blk_0_ffn_up.npy"
equal "$(lines $OTHER)" $((before + 1)) 'lines of a write to .views/npy'
as_other cat "$mnt/.views/npy/organs/blk_0_ffn_up.npy" >"$TMP/npy"
as_user cmp "$mnt/.views/npy/organs/blk_0_ffn_up.npy" "$TMP/npy"

# The mount's user may change everything.
as_user cp "$TMP/npy" "$mnt/.views/npy/organs/blk_4_ffn_up.npy"
as_user cut -f 1 "$mnt/.grafts" | grep -qx organs/blk_4_ffn_up.bin || fail 'no graft by .npy'
as_user rm "$mnt/.diff/link.gguf"
as_user cp "$home/secret.bin" "$mnt/organs/blk_2_ffn_up.bin"
as_user sh -c "echo '!$home/owners.gguf' >'$mnt/.assemble'"
differ "$home/owners.gguf" "$base"
as_user cmp "$home/owners.gguf" "$mnt/model.gguf"
# Another user's process may write to a descriptor that the mount's user opened.
python3 -c 'import os, sys
user, other = int(sys.argv[1]), int(sys.argv[2])
os.setegid(user), os.seteuid(user)
os.dup2(os.open(sys.argv[3], os.O_WRONLY | os.O_TRUNC), 1)
os.seteuid(0), os.setegid(0), os.setgroups([])
os.setresgid(other, other, other), os.setresuid(other, other, other)
os.execlp("cat", "cat")' "$ORDINARY" $OTHER "$mnt/organs/blk_3_ffn_up.bin" <"$home/secret.bin"
as_user cut -f 1 "$mnt/.grafts" | grep -qx organs/blk_3_ffn_up.bin || fail 'it is not grafted'
DAEMON[$mnt]=$(daemon_of "$mnt" as_user)
as_user fusermount3 -u "$mnt"
wait_daemon "$mnt"

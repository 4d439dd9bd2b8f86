#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# A user's own mount: umount and organfs-umount wait, root may wait for it too, and other users
# learn nothing of the daemon's status.
. "${0%/*}/lib.sh"

need setpriv
with_umount_helper
# Users that fusermount3 can name, and a device that they may open.
nobody=$(id -u nobody) group=$(id -g nobody)
other=$(id -u daemon) || skip 'no user to be'
mknod -m 666 "$TMP/fuse" c 10 229 && mount --bind "$TMP/fuse" /dev/fuse || skip 'no device of ours'
chmod 755 "$ORGANFS_TEST_DIR" "$TMP"
mkdir "$TMP/user" "$TMP/bin"
cp "$ORGANFS" "$TMP/bin/organfs"
as_user() {
	XDG_STATE_HOME=$TMP/user/state setpriv --reuid "$nobody" --regid "$group" --clear-groups \
		"$@"
}
as_user test -r /dev/fuse || skip '/dev/fuse cannot be opened'

base=$TMP/user/stories260K.gguf
out=$TMP/user/stories260K.grafted.gguf
cp "$MODELS/stories260K.gguf" "$base"
chown -R "$nobody:$group" "$TMP/user"
donor=$MODELS/stories260K-donor.gguf
"$GGUF" organ "$donor" blk.1.ffn_up.weight "$TMP/organ.bin"
"$GGUF" splice "$base" "$donor" blk.1.ffn_up.weight "$TMP/expected"
mnt=$TMP/user/mnt

graft() {
	as_user "$TMP/bin/organfs" "$base" "$mnt" </dev/null || fail 'the user cannot mount'
	as_user cp "$TMP/organ.bin" "$mnt/organs/blk_1_ffn_up.bin"
}

written() {
	same "$out" "$TMP/expected"
	rm "$out"
	absent "$mnt"
}

graft
umount_says 0 '' as_user umount "$mnt"
written
graft
umount_says 0 '' as_user "$HELPER" "$mnt"
written
# Root cannot look into it, and waits nevertheless.
graft
! ls "$mnt" >/dev/null 2>&1 || fail 'root can look into the mount'
umount_says 0 '' umount "$mnt"
written
graft
umount_says 0 '' "$HELPER" "$mnt"
written

# Root's, for all to see: another user can neither end it nor read how far it is.
"$ORGANFS" -o allow_other,ro "$MODELS/stories260K.gguf" "$MNT" </dev/null
said=$(as_user getfattr --absolute-names --only-values -n user.organfs.daemon "$MNT")
read -r pid fd name <<<"$said"
grep -q '^mounted ' "/proc/$pid/fd/$fd" || fail "$said: no status there"
equal "$(readlink "/proc/$pid/fd/$fd")" "/memfd:$name (deleted)"
expect_fail 'permission' as_user cat "/proc/$pid/fd/$fd"
expect_fail 'permission' setpriv --reuid "$other" --regid "$other" --clear-groups \
	cat "/proc/$pid/fd/$fd"
umount_says 32 . as_user umount "$MNT"
umount_says 32 . as_user "$HELPER" "$MNT"
mountpoint -q "$MNT" || fail 'another user has ended it'
umount_says 0 '' umount "$MNT"

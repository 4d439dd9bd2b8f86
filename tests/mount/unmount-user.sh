#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# A user's own mount: umount and organfs-umount wait, root may wait for it too, and other users
# learn nothing of the daemon's status.
. "${0%/*}/lib.sh"

need setpriv strace
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
as_user test -x "$TMP" || skip "$TMP is closed to other users"

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

is_written() {
	[ -e "$out" ] && [ ! -e "$mnt" ]
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

# What the user's daemon leads to may be anything by the time it is opened: root does not hang. (A
# readlink that tells of what was there before.)
mkfifo "$TMP/fifo"
exec 6<>"$TMP/fifo" # keeps it there, for /proc to lead to
sleep 600 6<"$TMP/fifo" &
sleeper=$!
exec 6<&-
mkdir "$TMP/fake"
printf '#!/bin/sh\necho %s 6 organfs-x\n' "$sleeper" >"$TMP/fake/getfattr"
cat >"$TMP/fake/readlink" <<'END'
#!/bin/sh
[ "$1" != -f ] || exec /usr/bin/readlink "$@"
echo '/memfd:organfs-x (deleted)'
END
chmod +x "$TMP"/fake/*
graft
PATH=$TMP/fake:$PATH umount_says 0 'cannot be asked' timeout 60 "$HELPER" "$mnt"
kill "$sleeper"
until_true 20 is_written || fail 'nothing is written'
written

# Nor does it read what is no status.
rm "$TMP/fake/readlink"
sleep 600 6<"$base" &
sleeper=$!
printf '#!/bin/sh\necho %s 6 organfs-x\n' "$sleeper" >"$TMP/fake/getfattr"
graft
PATH=$TMP/fake:$PATH umount_says 0 'cannot be asked' timeout 60 "$HELPER" "$mnt"
kill "$sleeper"
until_true 20 is_written || fail 'nothing is written'
written

# Nor does it wait for ever for a daemon that does nothing. One that does something is waited for.
graft
DAEMON[$mnt]=$(pgrep -n -f -- "^$TMP/bin/organfs .*$mnt\$") || fail 'no daemon'
strace -f -qq -o /dev/null -p "${DAEMON[$mnt]}" -e trace=fsync \
	-e inject=fsync:delay_enter=60000000 2>"$LOGS/strace" &
TRACER=$!
until_true 20 is_traced "${DAEMON[$mnt]}" || skip "no strace here: $(cat "$LOGS/strace")"
sed 's/^patience=3600 /patience=2 /' "$HELPER" >"$TMP/sbin/impatient"
chmod +x "$TMP/sbin/impatient"
umount_says 1 'nothing was written for 2 s' "$TMP/sbin/impatient" "$mnt"
absent "$out"
full_speed
until_true 20 is_written || fail 'nothing is written'
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

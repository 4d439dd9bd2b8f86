#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# A user's own mount: umount and organfs-umount wait, root may wait for it too, and other users
# learn nothing of the daemon's status.
. "${0%/*}/../lib.sh"

need setpriv
need_strace
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
# In a directory that no longer belongs to the user nothing can be written.
graft
chown root "$TMP/user"
umount_says 1 'Permission denied.*again with -o output=FILE.*are kept' as_user "$HELPER" "$mnt"
chown "$nobody:$group" "$TMP/user"
[ ! -e "$mnt" ] || rmdir "$mnt"
# Root has no access, and waits all the same.
graft
! ls "$mnt" >/dev/null 2>&1 || fail 'root can look into the mount'
umount_says 0 '' umount "$mnt"
written
graft
umount_says 0 '' "$HELPER" "$mnt"
written
# A busy mount becomes read-only, and keeps nosuid and nodev.
graft
setpriv --reuid "$nobody" --regid "$group" --clear-groups \
	sh -c "exec sleep 60 <'$mnt/model.gguf'" &
reader=$!
has_open() {
	[ "$(readlink "/proc/$reader/fd/0")" = "$mnt/model.gguf" ]
}
until_true 60 has_open || late 'not open'
umount_says 32 'busy, and read-only from now on' "$HELPER" -r "$mnt"
[[ $(findmnt -n -o VFS-OPTIONS "$mnt") = ro,nosuid,nodev,* ]] ||
	fail "its flags: $(findmnt -n -o VFS-OPTIONS "$mnt")"
kill $reader
wait $reader || true
umount_says 0 '' "$HELPER" "$mnt"
written

# A path in a user's mount may be any file: root neither hangs on it nor trusts it.
mkdir "$TMP/liar"
# lies STATUS PATTERN ANSWER [OPTION]: unmount a mount that gives ANSWER.
lies() {
	: >"$TMP/ready"
	python3 "$here/../tools/liar.py" "$TMP/liar" "$nobody" "$group" "$3" >"$TMP/ready" 2>&1 &
	until_true 60 grep -q ready "$TMP/ready" || late "no mount: $(cat "$TMP/ready")"
	# LeakSanitizer does not work in a process under strace.
	ASAN_OPTIONS=${ASAN_OPTIONS-}${WATCHED:+:detect_leaks=0} umount_says "$1" "$2" \
		${WATCHED:+strace -f -qq -o "$TMP/calls"} \
		timeout 60 "$HELPER" ${4:+"$4"} "$TMP/liar"
	wait $! || fail "liar.py: $(cat "$TMP/ready")"
}

for answer in x '1 2' "$$ 3 organfs-" '-1 6 organfs-x' '4294967297 6 organfs-x' '1  6 organfs-x' \
	"$$ 0 organfs-$(printf '%090d' 0)" "$(printf '%0200d' 0)"; do
	lies 0 "^organfs-umount: $TMP/liar: its daemon cannot be asked" "$answer"
done
# One file is a pipe without a writer, one a text that is no status.
mkfifo "$TMP/fifo"
exec 6<>"$TMP/fifo" # keeps it open for a path in /proc
for file in "$TMP/fifo" "$base" /dev/zero; do
	setpriv --reuid "$nobody" --regid "$group" --clear-groups sleep 600 6<"$file" &
	sleeper=$!
	until_true 60 grep -q sleep "/proc/$sleeper/comm" || late 'no process holds it'
	WATCHED=1 lies 0 'cannot be asked' "$sleeper 6 organfs-x"
	# The file's type is checked by O_PATH before the open, and with the user's rights.
	grep -n "/proc/$sleeper/fd/6" "$TMP/calls" >"$TMP/opened" || fail 'it was not looked at'
	! grep -v O_PATH "$TMP/opened" || fail 'it was opened'
	! grep 'open.*"/proc/self/fd/' "$TMP/calls" || fail 'it was opened by way of its descriptor'
	# If strace prints a call in two lines, the first has the arguments.
	before=$(grep -n "setresuid($nobody, $nobody, $nobody" "$TMP/calls" | head -n 1 |
		cut -d : -f 1)
	[ "${before:-999999}" -lt "$(head -n 1 "$TMP/opened" | cut -d : -f 1)" ] ||
		fail 'it was looked at by root'
	kill $sleeper
done
exec 6<&-
# memory UID [BYTES]: a memory file with a status's name, open in that user's process $! as the
# descriptor in $TMP/memory.
memory() {
	rm -f "$TMP/memory"
	python3 -c 'import os, sys
uid = sys.argv[1]
fd = os.memfd_create("organfs-x", 0)
os.fchown(fd, int(uid), int(uid))
os.write(fd, os.fsencode(sys.argv[2]))
print(fd, flush=True)
os.execvp("setpriv", ["setpriv", "--reuid", uid, "--regid", uid, "--clear-groups", "sleep", "600"])
' "$1" "${2-}" >"$TMP/memory" &
	until_true 60 test -s "$TMP/memory" || late 'no file in memory'
	until_true 60 grep -q sleep "/proc/$!/comm" || late 'no process holds it'
}
# Another user's file, and root's, have no effect. The user's own is trusted as text.
for user in "$other" 0; do
	memory "$user"
	holder=$!
	lies 0 'cannot be asked' "$holder $(cat "$TMP/memory") organfs-x"
	kill $holder
done
memory "$nobody" $'finishing 0 0 0\nfailed\ta\e[2Jb\xc2\x9bc\nend\t1\n'
holder=$!
lies 1 '^organfs-umount: a\?\[2Jb\?c$' "$holder $(cat "$TMP/memory") organfs-x"
lies 0 'cannot be asked' "$holder $(cat "$TMP/memory") organfs-y"
kill $holder
# A mount without any answer is released by force.
lies 0 'cannot be asked' '' -f

# The helper does not wait for ever for an idle daemon, but it does for a working one.
graft
DAEMON[$mnt]=$(daemon_of "$mnt" as_user) || fail 'no daemon'
strace -f -qq -o /dev/null -p "${DAEMON[$mnt]}" -e trace=fsync \
	-e inject=fsync:delay_enter=60000000 2>"$LOGS/strace" &
TRACER=$!
until_true 60 is_traced "${DAEMON[$mnt]}" || late "strace: $(cat "$LOGS/strace")"
umount_says 1 'nothing was written for 2 s' "${UMOUNT%/*}/tests/tools/impatient" "$mnt"
absent "$out"
full_speed
until_true 60 is_written || late 'nothing is written'
written

# The mount is root's with allow_other: another user can neither end it nor read its progress.
"$ORGANFS" -o allow_other,ro "$MODELS/stories260K.gguf" "$MNT" </dev/null
said=$(as_user getfattr --absolute-names --only-values -n user.organfs.daemon "$MNT")
read -r pid fd name <<<"$said"
grep -q '^mounted ' "/proc/$pid/fd/$fd" || fail "$said: no status there"
equal "$(readlink "/proc/$pid/fd/$fd")" "/memfd:$name (deleted)"
expect_fail 'permission' as_user cat "/proc/$pid/fd/$fd"
expect_fail 'permission' setpriv --reuid "$other" --regid "$other" --clear-groups \
	cat "/proc/$pid/fd/$fd"
umount_says 32 . as_user umount "$MNT"
umount_says 32 "root has mounted it.*: sudo umount $MNT$" as_user "$HELPER" "$MNT"
mountpoint -q "$MNT" || fail 'another user has ended it'
umount_says 0 '' umount "$MNT"

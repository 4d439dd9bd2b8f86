#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# A directory above the mount is mounted twice and shared, as systemd does, so the mount has copies
# that end with it: umount waits and tells the outcome. Mounts that stay elsewhere are named, and
# not waited for. Only umount(8) is needed.
. "${0%/*}/../lib.sh"

need strace
with_umount_helper
base=$(use stories260K)
"$GGUF" organ "$MODELS/stories260K-donor.gguf" blk.1.ffn_up.weight "$TMP/organ.bin"
"$GGUF" splice "$base" "$MODELS/stories260K-donor.gguf" blk.1.ffn_up.weight "$TMP/expected"
out=$TMP/stories260K.grafted.gguf
mkdir "$TMP/a" "$TMP/b" "$TMP/c" "$TMP/small"
mount --bind "$TMP/a" "$TMP/a"
mount --make-rshared "$TMP/a"
mount --bind "$TMP/a" "$TMP/b"
mkdir "$TMP/a/mnt"
mnt=$TMP/a/mnt

# graft [OPTIONS]: mount, with a copy, and graft.
graft() {
	mount_held pwrite64 ${1:+-o "$1"} "$base" "$mnt"
	mountpoint -q "$TMP/b/mnt" || fail 'the mount has no copy'
	cp "$TMP/organ.bin" "$mnt/organs/blk_1_ffn_up.bin"
}

written() {
	same "$out" "$TMP/expected"
	rm "$out"
	wait_daemon "$mnt"
	! grep " $TMP/[ab]/mnt " /proc/self/mountinfo || fail 'a copy stays'
}

# waits STATUS PATTERN COMMAND...: umount_says, for a helper that waits while the daemon writes.
waits() {
	umount_says "$@" &
	until_true 60 have_arrived 1 || late 'nothing is written'
	until_true 60 eval "is_waiting $! || is_gone $!" || late "${*:3} does not wait"
	! is_gone $! || fail "${*:3} has not waited: $(cat "$TMP/.said")"
	release
	wait $! || exit 1
}

# Unmount in either place, by any name. (umount(8) gets the type of an absolute path from the first
# place alone.)
cd "$TMP"
for unmount in "umount $mnt" "umount b/mnt" "$HELPER $mnt" "$HELPER -v $TMP/b/mnt"; do
	graft
	hold
	pattern=
	[[ $unmount != *-v* ]] || pattern="^assembled: $out: "
	# shellcheck disable=SC2086
	waits 0 "$pattern" $unmount
	exists "$out"
	written
done

# PATH has only umount(8).
mkdir "$TMP/path"
ln -s "$(command -v umount)" "$TMP/path/umount"
graft
PATH=$TMP/path "$HELPER" "$mnt" || fail 'without tools'
written

# The model cannot be written.
mount -t tmpfs -o size=800k tmpfs "$TMP/small"
graft "output=$TMP/small/out.gguf"
umount_says 1 "failed: $TMP/small/out.gguf: .*[Nn]o space" umount "$mnt"
until_true 60 is_gone "${DAEMON[$mnt]}" || fail 'the daemon stays'
unset "DAEMON[$mnt]"

# A private bind mount keeps the model mounted until it ends too.
graft
mount --bind "$mnt" "$TMP/c"
umount_says 0 "^organfs-umount: $mnt: also mounted at $TMP/c: nothing is written before" \
	"$HELPER" "$mnt"
absent "$out"
cmp "$TMP/c/model.gguf" "$TMP/expected"
umount_says 0 '' "$HELPER" "$TMP/c"
written

# Another namespace does so too, whose copy does not end with this one.
graft
unshare -m sleep 1000 &
sleeper=$!
until_true 60 eval '[ "$(readlink /proc/self/ns/mnt)" != "$(readlink /proc/$sleeper/ns/mnt)" ]' ||
	late 'no other namespace'
umount_says 0 'also mounted elsewhere' umount "$mnt"
kill -0 "${DAEMON[$mnt]}" || fail 'the daemon has ended'
absent "$out"
kill $sleeper
until_true 60 is_gone "${DAEMON[$mnt]}" || fail 'the daemon stays'
written

# The kernel cannot report the end, because no watch is available.
unwatched() {
	ASAN_OPTIONS=$ASAN_OPTIONS:detect_leaks=0 strace -f -qq -o /dev/null \
		-e trace=inotify_add_watch -e inject=inotify_add_watch:error=ENOSPC "$HELPER" "$@"
}
graft
mount --bind "$mnt" "$TMP/c"
umount_says 0 "$mnt: also mounted at $TMP/c" unwatched "$mnt"
umount_says 0 '' unwatched "$TMP/c"
written

# One of several arguments is no mount, and one is busy. The helper waits for each other one.
cp "$base" "$TMP/other.gguf"
graft
mount_model "$TMP/other.gguf" "$MNT"
cp "$TMP/organ.bin" "$MNT/organs/blk_1_ffn_up.bin"
hold
waits 32 "^organfs-umount: $TMP/small: not an organfs mount" \
	"$HELPER" "$mnt" "$TMP/small" "$MNT"
equal "$(wc -l <"$TMP/.said")" 1 'lines'
same "$TMP/other.grafted.gguf" "$out"
written
wait_daemon
graft
exec 6<"$mnt/model.gguf"
mount_model -o ro "$base" "$MNT"
umount_says 32 busy "$HELPER" "$mnt" "$MNT"
! mountpoint -q "$MNT" || fail 'the second one stays mounted'
exec 6<&-
umount_says 0 '' "$HELPER" "$mnt"
written
wait_daemon

#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# plain: sanitizers need memory of their own
# An ordinary user's mount leaves no pages of the user's own base in memory. For another user's
# base the kernel does not tell which pages are cached, and from Linux 6.14 on drops them itself.
. "${0%/*}/../lib.sh"
. "${0%/*}/memory.sh"

with_mount_helper
with_ordinary_user
model_on_disk 48M
MNT=$TMP/home/mnt
mkdir "$MNT"
chown "$ORDINARY:$ORDINARY" "$MNT"
chmod 755 "$TMP/disk"
chmod 644 "$base"

# read_all [PAGES]: the user reads root's base, and at most that many pages stay.
read_all() {
	as_user "$ORGANFS" -o ro "$base" "$MNT"
	DAEMON[$MNT]=$(daemon_of "$MNT" as_user)
	as_user head -c 1 "$MNT/model.gguf" >/dev/null
	until_true 60 is_idle || late 'the daemon does not rest'
	"$PAGES" drop "$base"
	as_user cat "$MNT/model.gguf" | cksum >"$TMP/sum"
	[ -z "${1-}" ] || comes_to "$1" 'after all of model.gguf'
	as_user fusermount3 -u "$MNT"
	wait_daemon
	same "$TMP/sum" <(cksum <"$base")
}

read_all
chown "$ORDINARY" "$base"
read_all 64
umount "$TMP/disk"

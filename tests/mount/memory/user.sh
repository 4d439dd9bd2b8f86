#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# plain: sanitizers need memory of their own
# The mount of an ordinary user: of a base of his own nothing is left in memory. Of another's base
# the kernel does not tell him which pages are there, and from Linux 6.14 on drops them by itself.
. "${0%/*}/../lib.sh"
. "${0%/*}/memory.sh"

with_mount_helper
with_ordinary_user
model_on_disk 48M
mkdir "$TMP/home/mnt"
chown "$ORDINARY:$ORDINARY" "$TMP/home/mnt"
chmod 755 "$TMP/disk"
chmod 644 "$base"

# read_all: what the user reads is what root's base has.
read_all() {
	as_user "$ORGANFS" -o ro "$base" "$TMP/home/mnt"
	as_user head -c 1 "$TMP/home/mnt/model.gguf" >/dev/null
	sleep 0.2
	"$PAGES" drop "$base"
	as_user cat "$TMP/home/mnt/model.gguf" | cksum >"$TMP/sum"
	sleep 0.3
	"$PAGES" count "$base" >"$TMP/left"
	as_user fusermount3 -u "$TMP/home/mnt"
	same "$TMP/sum" <(cksum <"$base")
}

read_all
chown "$ORDINARY" "$base"
read_all
[ "$(cat "$TMP/left")" -le 64 ] ||
	fail "$(cat "$TMP/left") of $pages pages are left of his own base"
umount "$TMP/disk"

#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# plain: sanitizers need memory of their own
# Two mounts of one base: what one has read from the disk, the other finds in memory. When one is
# left, pages go again.
. "${0%/*}/../lib.sh"
. "${0%/*}/memory.sh"

model_on_disk 32M
mkdir "$TMP/other"
mount_model -o ro,passthrough=no "$base"
mount_model -o ro,passthrough=no "$base" "$TMP/other"
first_look
sleep 0.3 # for so long a daemon believes what it saw
cat "$MNT/model.gguf" >/dev/null
[ "$("$PAGES" count "$base")" -ge $((pages * 9 / 10)) ] ||
	fail "only $("$PAGES" count "$base") of $pages pages are kept for the other mount"
same "$TMP/other/model.gguf" "$base"
unmount_and_wait "$TMP/other"

"$PAGES" drop "$base"
"$PAGES" drop "$MNT/model.gguf"
sleep 0.3
cat "$MNT/model.gguf" >/dev/null
comes_to 0 'after the other mount is gone'
unmount_and_wait
umount "$TMP/disk"

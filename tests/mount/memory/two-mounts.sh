#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# plain: sanitizers need memory of their own
# The second of two mounts of one base finds the first's pages in memory. A single mount drops its
# pages again.
. "${0%/*}/../lib.sh"
. "${0%/*}/memory.sh"

model_on_disk 32M
mkdir "$TMP/other"
mount_model -o ro,passthrough=no "$base"
mount_model -o ro,passthrough=no "$base" "$TMP/other"
first_look
# A daemon caches its view of the page cache for a moment.
is_kept() {
	can_be_dropped
	cat "$MNT/model.gguf" >/dev/null
	[ "$("$PAGES" count "$base")" -ge $((pages * 9 / 10)) ]
}
until_true 60 is_kept ||
	fail "only $("$PAGES" count "$base") of $pages pages are kept for the other mount"
same "$TMP/other/model.gguf" "$base"
unmount_and_wait "$TMP/other"

is_dropped() {
	can_be_dropped
	cat "$MNT/model.gguf" >/dev/null
	until_true 1 has_at_most 0
}
until_true 60 is_dropped ||
	fail "$("$PAGES" count "$base") of $pages pages are in memory after the other is gone"
unmount_and_wait
umount "$TMP/disk"

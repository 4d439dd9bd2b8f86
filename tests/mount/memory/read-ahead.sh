#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# plain: the calls of the daemon are counted
# Where the disk reads ahead far, the base is in memory once as well: the kernel goes on beyond the
# end of an organ, and drops many pages only together.
. "${0%/*}/../lib.sh"
. "${0%/*}/memory.sh"

model_on_disk 300M --tensors 14
need_ahead "$TMP/disk"
echo 8192 >"$(ahead_of "$TMP/disk")"
mount_model -o ro,passthrough=no "$base"
first_look
# The kernel sends the release of a file after its close. A reader that begins before the release
# counts the pages that the last one had read ahead as present, and leaves them.
for organ in "$MNT"/*/*.bin; do
	cat "$organ" >/dev/null
	comes_to 0 "after $organ"
	until_true 60 is_idle || late 'the daemon does not rest'
done
"$PAGES" drop "$base"
cat "$MNT/model.gguf" >/dev/null
comes_to 0 'after all of model.gguf'
unmount_and_wait
umount "$TMP/disk"

#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# plain: the calls of the daemon are counted
# A large read-ahead does not cache the base twice either: the kernel reads beyond the end of
# an organ, and drops many pages only together.
. "${0%/*}/../lib.sh"
. "${0%/*}/memory.sh"

model_on_disk 300M --tensors 14
need_ahead "$TMP/disk"
echo 8192 >"$(ahead_of "$TMP/disk")"
mount_model -o ro,passthrough=no "$base"
first_look
cat "$MNT"/*/*.bin >/dev/null
# Pages that one reader read ahead and dropped may count as present for the next one.
comes_to $((pages / 20)) 'after all organs'
"$PAGES" drop "$base"
cat "$MNT/model.gguf" >/dev/null
comes_to 0 'after all of model.gguf'
unmount_and_wait
umount "$TMP/disk"

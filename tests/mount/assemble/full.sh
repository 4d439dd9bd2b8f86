#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# A full disk gives ENOSPC, leaves no file, and keeps the target.
. "${0%/*}/../lib.sh"

need_root
base=$(use stories260K)
mkdir "$TMP/small"
mount -t tmpfs -o size=800k tmpfs "$TMP/small"
trap 'umount -l "$TMP/small"' EXIT
mount_model "$base"
full() {
	bash -c 'echo "$1" >"$2"' - "$1" "$MNT/.assemble"
}

echo '*/blk_1_* q8_0' >"$TMP/types"
expect_fail '^organfs: failed: .*/new.gguf: .*no space.*; the target is as it was$' \
	"$ORGANFS" --quantise "$TMP/types" "$base" "$TMP/small/new.gguf"
equal "$(ls -A "$TMP/small")" '' 'files of --quantise on the full disk'
expect_fail 'no space' full "$TMP/small/new.gguf"
equal "$(ls -A "$TMP/small")" '' 'files on the full disk'
echo old >"$TMP/small/old.gguf"
expect_fail 'no space' full "!$TMP/small/old.gguf"
equal "$(ls -A "$TMP/small")" old.gguf 'files on the full disk'
equal "$(cat "$TMP/small/old.gguf")" old
assembly_says space
unmount_and_wait

# At unmount, where no writer gets the error, the grafts are kept.
"$GGUF" organ "$MODELS/stories260K-donor.gguf" blk.1.ffn_up.weight "$TMP/organ.bin"
mount_daemon -o "output=$TMP/small/old.gguf" "$base" "$MNT"
cp "$TMP/organ.bin" "$MNT/organs/blk_1_ffn_up.bin"
unmount_and_wait
equal "$(ls -A "$TMP/small")" old.gguf 'files on the full disk after the unmount'
equal "$(cat "$TMP/small/old.gguf")" old
mount_model -o noassemble "$base"
same "$MNT/organs/blk_1_ffn_up.bin" "$TMP/organ.bin"
unmount_and_wait

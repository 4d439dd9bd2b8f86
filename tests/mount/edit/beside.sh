#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Concurrent close() and rename(): no confirmed change is lost, and no removed content comes back.
# timeout: 300
. "${0%/*}/../lib.sh"

beside=$here/../tools/beside.py
"$GGUF" small "$TMP/base.gguf" 6
"$GGUF" small "$TMP/donor.gguf" 6 --seed 2
mkdir "$TMP/donor"
mount_model -o ro "$TMP/donor.gguf" "$TMP/donor"
mount_model -o "layer=$TMP/layer" "$TMP/base.gguf"
"$beside" removed "$MNT" "$TMP/donor"
"$beside" aside "$MNT" "$TMP/donor" "$(rounds 60 15)"
"$beside" made "$MNT" "$TMP/donor" "$(rounds 40 10)"
"$beside" moved "$MNT" "$TMP/donor"

unmount_and_wait "$MNT"
unmount_and_wait "$TMP/donor"

# A refused name does not exist, and its earlier content is unchanged.
failing_disk "$TMP/back" "$TMP/disk"
mount_model -o "layer=$TMP/disk/layer" "$TMP/base.gguf"
echo mine >"$MNT/organs/mine~"
cp "$MNT/organs/blk_3_ffn_up.bin" "$TMP/organ"
fault 'change EIO'
for name in aside mine~; do
	expect_fail 'input/output error' mv "$MNT/organs/blk_3_ffn_up.bin" "$MNT/organs/$name"
done
fault
absent "$MNT/organs/aside"
equal "$(cat "$MNT/organs/mine~")" mine
same "$MNT/organs/blk_3_ffn_up.bin" "$TMP/organ"
mv "$MNT/organs/blk_3_ffn_up.bin" "$MNT/organs/aside"
same "$MNT/organs/aside" "$TMP/organ"
unmount_and_wait
end_disk "$TMP/disk"

"$GGUF" experts "$MODELS/stories260K.gguf" "$TMP/moe.gguf" 4
mount_model "$TMP/moe.gguf"
"$beside" experts "$MNT" "$(rounds 60 15)"
unmount_and_wait

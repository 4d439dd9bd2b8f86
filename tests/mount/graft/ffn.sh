#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# All feed-forward organs and norms of one mounted model into another, by cp alone.
. "${0%/*}/../lib.sh"

base=$(use scribe-Q4_K_M)
donor=$(use clerk-Q4_K_M)
sums=$(checksum "$base")$(checksum "$donor")
mkdir "$TMP/donor"
mount_model "$base"
mount_model -o ro "$donor" "$TMP/donor"
"$GGUF" splice "$base" "$donor" 'blk.*.ffn_*' "$TMP/expected"

cp "$TMP"/donor/organs/*_ffn_*.bin "$MNT/organs/"
cp "$TMP"/donor/norm/*_ffn_norm.bin "$MNT/norm/"
same "$MNT/model.gguf" "$TMP/expected"
equal "$(wc -l <"$MNT/.grafts")" 24 'lines in .grafts'
"$GGUF" check-mount --grafted "$TMP/expected" "$MNT"
unmount_and_wait
same "$TMP/scribe-Q4_K_M.grafted.gguf" "$TMP/expected"
unmount_and_wait "$TMP/donor"
equal "$(checksum "$base")$(checksum "$donor")" "$sums" 'a base changed'
absent "$TMP/clerk-Q4_K_M.grafted.gguf"

# Repeat this with the F16 models and their chimera, if available.
models=${ORGANFS_MODELS-}
[ -f "$models/chimera-ffn-f16.gguf" ] || exit 0
cp "$models/scribe-f16.gguf" "$TMP/"
mount_model "$TMP/scribe-f16.gguf"
mount_model -o ro "$models/clerk-f16.gguf" "$TMP/donor"
cp "$TMP"/donor/organs/*_ffn_*.bin "$MNT/organs/"
cp "$TMP"/donor/norm/*_ffn_norm.bin "$MNT/norm/"
same "$MNT/model.gguf" "$models/chimera-ffn-f16.gguf"
unmount_and_wait
same "$TMP/scribe-f16.grafted.gguf" "$models/chimera-ffn-f16.gguf"
same "$TMP/scribe-f16.gguf" "$models/scribe-f16.gguf"
unmount_and_wait "$TMP/donor"

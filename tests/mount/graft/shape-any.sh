#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Another shape is refused, except with shape=any.
. "${0%/*}/../lib.sh"

base=$(use stories260K)
donor=$(use scribe-Q4_K_M)
"$GGUF" organ "$donor" blk.1.ffn_up.weight "$TMP/organ.bin"
mount_model "$base"
expect_fail 'Invalid argument' cp "$TMP/organ.bin" "$MNT/organs/blk_1_ffn_up.bin"
unmount_and_wait
absent "$TMP/stories260K.grafted.gguf"

mount_model -o shape=any "$base"
cp "$TMP/organ.bin" "$MNT/organs/blk_1_ffn_up.bin"
"$GGUF" relayout --any-shape "$base" "$donor" blk.1.ffn_up.weight "$TMP/expected"
same "$MNT/model.gguf" "$TMP/expected"
unmount_and_wait
same "$TMP/stories260K.grafted.gguf" "$TMP/expected"

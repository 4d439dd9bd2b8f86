#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Two mounts of one model: grafts of one neither show in the other nor get lost.
. "${0%/*}/../lib.sh"

base=$(use stories260K)
donor=$MODELS/stories260K-donor.gguf
mkdir "$TMP/second"
"$GGUF" organ "$donor" blk.0.ffn_up.weight "$TMP/0.bin"
"$GGUF" organ "$donor" blk.1.ffn_up.weight "$TMP/1.bin"
mount_model -o "output=$TMP/one.gguf" "$base"
cp "$TMP/0.bin" "$MNT/organs/blk_0_ffn_up.bin"
mount_model -o "output=$TMP/two.gguf" "$base" "$TMP/second"
same "$TMP/second/model.gguf" "$base"
cp "$TMP/1.bin" "$TMP/second/organs/blk_1_ffn_up.bin"
"$GGUF" splice "$base" "$donor" blk.0.ffn_up.weight "$TMP/expected"
same "$MNT/model.gguf" "$TMP/expected"
unmount_and_wait
same "$TMP/one.gguf" "$TMP/expected"
"$GGUF" splice "$base" "$donor" blk.1.ffn_up.weight "$TMP/expected"
same "$TMP/second/model.gguf" "$TMP/expected"
unmount_and_wait "$TMP/second"
same "$TMP/two.gguf" "$TMP/expected"
no_litter "$XDG_STATE_HOME"

#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# noassemble keeps the grafts for the next mount and writes no model.
. "${0%/*}/../lib.sh"

base=$(use stories260K)
"$GGUF" organ "$MODELS/stories260K-q8_0.gguf" blk.0.ffn_up.weight "$TMP/organ.bin"
"$GGUF" relayout "$base" "$MODELS/stories260K-q8_0.gguf" blk.0.ffn_up.weight "$TMP/expected"
mount_model -o noassemble "$base"
cp "$TMP/organ.bin" "$MNT/organs/blk_0_ffn_up.bin"
unmount_and_wait
equal "$(ls "$TMP"/*.gguf)" "$base" 'models'

mount_model -o noassemble "$base"
same "$MNT/organs/blk_0_ffn_up.bin" "$TMP/organ.bin"
equal "$(cut -f 1 "$MNT/.grafts")" organs/blk_0_ffn_up.bin
same "$MNT/model.gguf" "$TMP/expected"
unmount_and_wait

# Another model does not get the grafts.
other=$(use stories260K-donor)
mount_model "$other"
equal "$(wc -c <"$MNT/.grafts")" 0 "grafts of another model"
same "$MNT/model.gguf" "$other"
unmount_and_wait

mount_model "$base"
same "$MNT/model.gguf" "$TMP/expected"
unmount_and_wait
same "$TMP/stories260K.grafted.gguf" "$TMP/expected"
no_litter "$XDG_STATE_HOME"

#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# cp fills a slot: the graft is at once in model.gguf and .grafts, and in the model of the unmount.
. "${0%/*}/../lib.sh"

base=$(use stories260K)
donor=$(use stories260K-donor)
before=$(checksum "$base")
"$GGUF" organ "$donor" blk.2.ffn_gate.weight "$TMP/organ.bin"
"$GGUF" splice "$base" "$donor" blk.2.ffn_gate.weight "$TMP/expected"

mount_model "$base"
differ "$MNT/organs/blk_2_ffn_gate.bin" "$TMP/organ.bin"
cp "$TMP/organ.bin" "$MNT/organs/blk_2_ffn_gate.bin"
same "$MNT/organs/blk_2_ffn_gate.bin" "$TMP/organ.bin"
same "$MNT/model.gguf" "$TMP/expected"
equal "$(wc -l <"$MNT/.grafts")" 1 'lines in .grafts'
equal "$(cut -f 1 "$MNT/.grafts")" organs/blk_2_ffn_gate.bin
"$GGUF" check-mount --grafted "$TMP/expected" "$MNT"
unmount_and_wait

same "$TMP/stories260K.grafted.gguf" "$TMP/expected"
equal "$(checksum "$base")" "$before" 'the base changed'
no_litter "$XDG_STATE_HOME"

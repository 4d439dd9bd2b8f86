#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# If the base of grafts is truncated, the unmount writes nothing and keeps the grafts.
. "${0%/*}/../lib.sh"

base=$(use stories260K)
cp "$base" "$TMP/whole"
"$GGUF" organ "$MODELS/stories260K-donor.gguf" blk.1.ffn_up.weight "$TMP/organ.bin"
"$GGUF" splice "$base" "$MODELS/stories260K-donor.gguf" blk.1.ffn_up.weight "$TMP/expected"
mount_daemon "$base" "$MNT"
cp "$TMP/organ.bin" "$MNT/organs/blk_1_ffn_up.bin"
truncate -s 500000 "$base"
unmount_and_wait
absent "$TMP/stories260K.grafted.gguf"
equal "$(find "$TMP" -name '*.gguf*')" "$base" 'files beside the base'
layer=$(echo "$XDG_STATE_HOME"/organfs/*)
equal "$(layer_sql "$layer" 'SELECT name FROM slot')" blk_1_ffn_up 'the grafts that are kept'

# The base comes back, and the next mount has the graft.
cp "$TMP/whole" "$base"
mount_model "$base"
same "$MNT/organs/blk_1_ffn_up.bin" "$TMP/organ.bin"
unmount_and_wait
same "$TMP/stories260K.grafted.gguf" "$TMP/expected"

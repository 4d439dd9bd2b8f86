#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The given directory has a layer for each of several models, named after the model.
. "${0%/*}/../lib.sh"

one=$(use stories260K)
two=$(use stories260K-donor)
"$ORGANFS" -o "layer=$TMP/layers" "$one" "$two" "$MNT"
cp "$MNT/stories260K-donor/organs/blk_0_ffn_up.bin" "$TMP/up.bin"
cp "$TMP/up.bin" "$MNT/stories260K/organs/blk_0_ffn_up.bin"
unmount_and_wait
exists "$TMP/layers/stories260K/layer.db"
exists "$TMP/layers/stories260K-donor/layer.db"
mount_model -o "layer=$TMP/layers/stories260K" "$one"
same "$MNT/organs/blk_0_ffn_up.bin" "$TMP/up.bin"
unmount_and_wait

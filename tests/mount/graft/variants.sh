#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Grafts into every container version and alignment, of the same size and of another.
. "${0%/*}/../lib.sh"

try() {
	local base=$TMP/variant.gguf
	echo "$*"
	"$GGUF" variant "$MODELS/stories260K.gguf" "$base" "$@"
	mount_model "$base"
	cp "$TMP/same.bin" "$MNT/organs/blk_1_ffn_up.bin"
	"$GGUF" splice "$base" "$MODELS/stories260K-donor.gguf" blk.1.ffn_up.weight "$TMP/expected"
	same "$MNT/model.gguf" "$TMP/expected"
	cp "$TMP/other.bin" "$MNT/organs/blk_1_ffn_up.bin"
	"$GGUF" relayout "$base" "$MODELS/stories260K-q8_0.gguf" blk.1.ffn_up.weight "$TMP/expected"
	same "$MNT/model.gguf" "$TMP/expected"
	"$GGUF" check-mount --grafted "$TMP/expected" "$MNT"
	unmount_and_wait
	same "$TMP/variant.grafted.gguf" "$TMP/expected"
	rm "$TMP/variant.grafted.gguf"
}

"$GGUF" organ "$MODELS/stories260K-donor.gguf" blk.1.ffn_up.weight "$TMP/same.bin"
"$GGUF" organ "$MODELS/stories260K-q8_0.gguf" blk.1.ffn_up.weight "$TMP/other.bin"
try --version 1
try --version 2
for align in 1 8 64 4096; do
	try --align $align
done
try --version 1 --align 1

#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Every container version and alignment, bytes behind the data, and a vocabulary alone.
# timeout: 300
. "${0%/*}/../lib.sh"

try() {
	echo "$*"
	"$GGUF" variant "$MODELS/$1.gguf" "$TMP/variant.gguf" "${@:2}"
	mount_model "$TMP/variant.gguf"
	same "$MNT/model.gguf" "$TMP/variant.gguf"
	"$GGUF" check-mount "$TMP/variant.gguf" "$MNT"
	"$GGUF" check-manifest "$TMP/variant.gguf" "$MNT"
	unmount_and_wait
}

try stories260K --version 1
try stories260K --version 2
for align in 1 8 64 4096; do
	try stories260K --align $align
done
try stories260K --version 1 --align 1 --trailing 7
try stories260K --trailing 12345
try stories260K --vocab
try scribe-Q4_K_M --vocab --version 2
try stories260K-q8_0 --align 1 --version 2

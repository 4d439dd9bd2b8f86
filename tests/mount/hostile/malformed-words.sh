#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# A user who mounts the wrong thing is told what it is.
. "${0%/*}/../lib.sh"

refused_with() {
	expect_refusal "$1"
	expect_fail "$2" "$ORGANFS" "$1" "$MNT"
}

"$GGUF" bigendian "$MODELS/stories260K.gguf" "$TMP/big.gguf"
head -c 700000 "$MODELS/stories260K.gguf" >"$TMP/short.gguf"
refused_with "$TMP/big.gguf" 'big.endian'
refused_with "$TMP/short.gguf" 'incomplete|ends|outside'
refused_with "$MALFORMED/magic-lfs.gguf" 'LFS'
refused_with "$MALFORMED/magic-fugg.gguf" 'FUGG'
refused_with "$TMP/none.gguf" 'no such file'
refused_with /dev/null 'gguf|regular|file'

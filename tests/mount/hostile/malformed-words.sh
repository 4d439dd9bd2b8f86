#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# A file of another format is refused with that format's name.
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
json='{"w":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}'
zeros='\0\0\0\0\0\0\0'
printf "\\$(printf %o ${#json})$zeros%s\\0\\0\\0\\0" "$json" >"$TMP/model.safetensors"
refused_with "$TMP/model.safetensors" 'safetensors file.*convert_hf_to_gguf.py of llama.cpp'
mkdir "$TMP/directory"
mv "$TMP/model.safetensors" "$TMP/directory"
refused_with "$TMP/directory" 'convert_hf_to_gguf.py of llama.cpp'
refused_with "$TMP/none.gguf" 'no such file'
refused_with /dev/null 'gguf|regular|file'

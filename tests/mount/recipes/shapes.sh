#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# A recipe with organs of another shape, from experts removed from a stack or from shape=any, makes
# the same model without that option.
. "${0%/*}/../lib.sh"

"$GGUF" experts "$(use stories260K)" "$TMP/moe.gguf" 4
mkdir "$TMP/beside"

# again: the recipe gives the same model here after an undo, and in another mount.
again() {
	cp "$MNT/model.gguf" "$TMP/expected"
	cp "$MNT/.recipe" "$TMP/beside/recipe.yml"
	layer_sql "$TMP/layer" "SELECT class || '/' || name FROM slot WHERE kind = 'copy'" |
		while read -r slot; do cp "$MNT/$slot.bin" "$TMP/beside"; done
	echo all >"$MNT/.undo"
	same "$MNT/model.gguf" "$1"
	cp "$TMP/beside/recipe.yml" "$MNT/.recipe" || fail "$(tail -n 1 "$MNT/.log")"
	same "$MNT/model.gguf" "$TMP/expected"
	unmount_and_wait
	mount_model -o "noassemble,layer=$TMP/other,recipe=$TMP/beside/recipe.yml" "$1"
	same "$MNT/model.gguf" "$TMP/expected"
	unmount_and_wait
	rm -r "$TMP/layer" "$TMP/other" "$TMP/beside"/*
}

mount_model -o "noassemble,compress=off,layer=$TMP/layer" "$TMP/moe.gguf"
for stack in "$MNT"/.views/experts/*/*/; do
	echo 0 1 2 >"$stack/order"
done
echo 3 >"$MNT/metadata/llama.expert_count"
again "$TMP/moe.gguf"

mount_model -o "noassemble,compress=off,shape=any,layer=$TMP/layer" "$TMP/stories260K.gguf"
cp "$MNT/organs/blk_1_ffn_down.bin" "$TMP/organ.bin"
cp "$TMP/organ.bin" "$MNT/organs/blk_1_ffn_up.bin"
unmount_and_wait
mount_model -o "noassemble,compress=off,layer=$TMP/layer" "$TMP/stories260K.gguf"
again "$TMP/stories260K.gguf"

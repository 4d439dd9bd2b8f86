#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# A graft equal to the base's content with another time is a graft also by a recipe, and the model
# then matches the recipe.
. "${0%/*}/../lib.sh"

base=$(use stories260K)
mount_model -o noassemble "$base"
cp "$MNT/norm/blk_3_ffn_norm.bin" "$MNT/norm/blk_2_ffn_norm.bin"
cp "$MNT/norm/blk_0_ffn_norm.bin" "$TMP/organ.bin"
touch -d 2001-02-03 "$TMP/organ.bin"
cp -p "$TMP/organ.bin" "$MNT/norm/blk_0_ffn_norm.bin"
cp "$TMP/organ.bin" "$MNT/norm/blk_1_ffn_norm.bin"
cut -f 1,2 "$MNT/.grafts" >"$TMP/grafts"
equal "$(wc -l <"$TMP/grafts")" 3
cp "$MNT/.recipe" "$TMP/recipe.yml"
cp "$MNT/model.gguf" "$TMP/model.gguf"

echo all >"$MNT/.undo"
for _ in 1 2; do
	cp "$TMP/recipe.yml" "$MNT/.recipe" || fail "$(tail -n 1 "$MNT/.log")"
	equal "$(cut -f 1,2 "$MNT/.grafts")" "$(cat "$TMP/grafts")"
	same "$MNT/model.gguf" "$TMP/model.gguf"
done
unmount_and_wait

#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# A model too large for a recipe is still checked, assembled and unmounted; a link without a known
# donor is no error in a model that embeds its recipe.
. "${0%/*}/../lib.sh"

cp "$(use clerk-Q4_K_M)" "$TMP/base.gguf"
mount_model -o lineage,output="$TMP/out.gguf" "$TMP/base.gguf"
head -c 9000000 /dev/zero | tr '\0' x >"$TMP/long"
for key in one two; do
	cp "$TMP/long" "$MNT/metadata/general.$key"
done
cat "$MNT/.recipe" | grep -q '^# there is no recipe: ' || fail "$(head -c 300 "$MNT/.recipe")"
grep -q 'keys edited' "$MNT/.check" || fail "$(cat "$MNT/.check")"
cp "$MNT/model.gguf" "$TMP/shown.gguf"
log_says 'lineage: recipe not embedded .*longer'
echo "$TMP/assembled.gguf" >"$MNT/.assemble"
same "$TMP/assembled.gguf" "$TMP/shown.gguf"
# Once it is shorter, the recipe is embedded again.
rm "$MNT/metadata/general.two"
grep -q organfs.recipe "$MNT/header.gguf" || fail 'header.gguf carries no recipe'
unmount_and_wait "$MNT"
"$ORGANFS" --recipe "$TMP/out.gguf" | grep -q '^- key: general.one' || fail 'no recipe'

# Links lead within the mount, and nowhere.
mount_model -o lineage,output="$TMP/links.gguf" "$TMP/base.gguf"
ln -sf blk_0_ffn_up.bin "$MNT/organs/blk_1_ffn_up.bin"
ln -sf "$MNT/organs/blk_0_ffn_up.bin" "$MNT/organs/blk_2_ffn_up.bin"
unmount_and_wait "$MNT"
"$ORGANFS" --recipe "$TMP/links.gguf" >"$TMP/links.yml" || fail 'it cannot be read'
cat "$TMP/links.yml"
grep -q 'target: blk_0_ffn_up.bin' "$TMP/links.yml" || fail 'the link is lost'
! grep -q "$TMP" "$TMP/links.yml" || fail 'a recipe to be handed on has paths'
# A model made from that model embeds the recipe.
mount_model -o noassemble,lineage "$TMP/links.gguf"
rm "$MNT/norm/output_norm.bin" 2>/dev/null || rm "$MNT"/norm/blk_0_ffn_norm.bin
grep -q '^  recipe: |' "$MNT/.recipe" || fail "$(cat "$MNT/.recipe")"
unmount_and_wait "$MNT"
mount_model -o noassemble,fresh "$TMP/base.gguf"
expect_fail 'Invalid argument' cp "$TMP/links.yml" "$MNT/.recipe"
log_says 'the link organs/blk_2_ffn_up has neither'
unmount_and_wait "$MNT"

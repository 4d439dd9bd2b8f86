#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# -o lineage: an assembled model embeds its recipe, all views of the model have the same bytes, and
# a chain of three chimeras leads back to its bases.
. "${0%/*}/../lib.sh"

mkdir "$TMP/models" "$TMP/donor"
cp "$(use scribe-Q4_K_M)" "$TMP/models/one.gguf"
cp "$(use clerk-Q4_K_M)" "$TMP/models/clerk.gguf"
carried() {
	"$ORGANFS" --recipe "$1" || fail "$1 carries no recipe"
}

# A model without a recipe causes an error.
for none in "$TMP/models/one.gguf" "$TMP/models/nothing.gguf" "$TMP"; do
	if "$ORGANFS" --recipe "$none" >"$TMP/out" 2>"$TMP/said"; then
		fail "$none carries a recipe"
	fi
	equal "$(wc -l <"$TMP/said")" 1
	[ ! -s "$TMP/out" ] || fail "of $none something is printed"
done

# Without changes the model is the base, byte for byte.
mount_model -o lineage,output="$TMP/models/two.gguf" "$TMP/models/one.gguf"
same "$MNT/model.gguf" "$TMP/models/one.gguf"

# The view and the assembled file have one layout.
mount_model -o ro "$TMP/models/clerk.gguf" "$TMP/donor"
cp "$TMP/donor/organs/blk_1_ffn_up.bin" "$MNT/organs/"
echo second >"$MNT/metadata/general.name"
cp "$MNT/model.gguf" "$TMP/shown.gguf"
echo "$TMP/assembled.gguf" >"$MNT/.assemble"
same "$TMP/assembled.gguf" "$TMP/shown.gguf"
n=$(stat -c %s "$MNT/header.gguf")
grep -q organfs.recipe "$MNT/header.gguf" || fail 'header.gguf carries no recipe'
[ "$n" -gt "$(stat -c %s "$MNT/.recipe")" ] || fail 'the header is too small'
cp "$MNT/.recipe" "$TMP/recipe.yml"
unmount_and_wait "$MNT"
same "$TMP/models/two.gguf" "$TMP/shown.gguf"
carried "$TMP/models/two.gguf" >"$TMP/two.yml"
grep -q '^- name: clerk.gguf' "$TMP/two.yml" || fail "$(cat "$TMP/two.yml")"
! grep -q "$TMP" "$TMP/two.yml" || fail 'a recipe to be handed on has paths'
unmount_and_wait "$TMP/donor"

# A model with a recipe is accepted as a recipe, and replayed on the base.
mount_model -o noassemble,lineage,donors="$TMP/models" "$TMP/models/one.gguf"
cp "$TMP/two.yml" "$MNT/.recipe" || fail "$(cat "$MNT/.log")"
same "$MNT/model.gguf" "$TMP/models/two.gguf"
# A second replay changes nothing.
cp "$TMP/two.yml" "$MNT/.recipe" || fail "$(cat "$MNT/.log")"
log_says 'is already as the recipe says'
echo all >"$MNT/.undo"
unmount_and_wait "$MNT"

# The third model is made from the second, with a chimera as donor.
mount_model -o ro "$TMP/models/two.gguf" "$TMP/donor"
mount_model -o lineage,output="$TMP/models/other.gguf" "$TMP/models/clerk.gguf"
cp "$TMP/donor/norm/blk_1_attn_norm.bin" "$MNT/norm/blk_2_attn_norm.bin"
unmount_and_wait "$MNT"
mount_model -o lineage,output="$TMP/models/three.gguf" "$TMP/models/two.gguf" "$MNT"
ln -sf "$TMP/models/../donor/organs/blk_3_ffn_up.bin" "$MNT/organs/blk_4_ffn_up.bin"
mkdir "$TMP/other"
mount_model -o ro "$TMP/models/other.gguf" "$TMP/other"
cp "$TMP/other/organs/blk_2_ffn_gate.bin" "$MNT/organs/"
unmount_and_wait "$MNT"
carried "$TMP/models/three.gguf" >"$TMP/three.yml"
cat "$TMP/three.yml"
# Each level is indented below the level that contains it.
for line in '^  name: two.gguf' '^    organfs: recipe 1' '^      name: one.gguf' \
	'^- name: other.gguf' '^    - name: two.gguf' '^          name: one.gguf'; do
	grep -q "$line" "$TMP/three.yml" || fail "three.gguf does not say \"$line\""
done

# Without the option the base's own recipe stays.
mount_model -o noassemble "$TMP/models/two.gguf"
rm "$MNT/organs/blk_3_ffn_up.bin"
equal "$(cat "$MNT/metadata/organfs.recipe")" "$(cat "$TMP/two.yml")"
unmount_and_wait "$MNT"
unmount_and_wait "$TMP/donor"
unmount_and_wait "$TMP/other"

#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The .recipe of a model with every kind of change, replayed on a copy of its base, with the donors
# in another directory and under other names, gives the same model.gguf.
# timeout: 240
. "${0%/*}/../lib.sh"

mkdir "$TMP/first" "$TMP/second" "$TMP/donors" "$TMP/donor"
cp "$(use scribe-Q4_K_M)" "$TMP/first/base.gguf"
cp "$(use clerk-Q4_K_M)" "$TMP/first/donor.gguf"
"$LORA" make "$TMP/first/base.gguf" "$TMP/first/style.gguf" 'blk.[01].attn_q.weight'
mount_model -o ro "$TMP/first/donor.gguf" "$TMP/donor"
mount_model -o noassemble "$TMP/first/base.gguf"

# Nothing is changed.
grep -qx '  name: base.gguf' "$MNT/.recipe" || fail "$(cat "$MNT/.recipe")"
! grep -q '^grafts:' "$MNT/.recipe" || fail 'there are grafts'

cp "$TMP/donor/organs/"blk_{1,2}_ffn_*.bin "$MNT/organs/"
cp "$MNT/.base/organs/blk_3_ffn_up.bin" "$MNT/organs/blk_40_ffn_up.bin"
cp "$MNT/.views/spectral/organs/blk_3_ffn_gate.bin" "$MNT/organs/"
cat "$TMP/donor/organs/blk_4_ffn_up.bin" | cat >"$MNT/organs/blk_4_ffn_up.bin"
cp "$TMP/donor/organs/blk_3_ffn_down.bin" "$TMP/one.bin"
printf '\001\002\003' | dd of="$TMP/one.bin" bs=1 seek=5000 conv=notrunc status=none
cp "$TMP/one.bin" "$MNT/organs/blk_3_ffn_down.bin"
ln -sf "$TMP/donor/skeleton/blk_1_attn_q.bin" "$MNT/skeleton/blk_1_attn_q.bin"
ln -f "$MNT/skeleton/blk_2_attn_q.bin" "$MNT/skeleton/blk_3_attn_q.bin"
rm "$MNT/skeleton/blk_4_attn_q.bin" "$MNT/norm/blk_4_attn_norm.bin"
mv "$MNT/norm/blk_1_attn_norm.bin" "$MNT/norm/blk_2_attn_norm.bin"
echo other >"$MNT/metadata/general.name"
printf 'two\nlines: "ä"\n\n' >"$MNT/metadata/general.remark"
printf 'no \xff UTF-8' >"$MNT/metadata/general.odd"
echo 1e-6 >"$MNT/metadata/llama.attention.layer_norm_rms_epsilon"
rm "$MNT/metadata/general.type"
ln -sf "$TMP/first/style.gguf" "$MNT/adapters/style.gguf"
echo 0.5 >"$MNT/adapters/style.scale"

size=$(stat -c %s "$MNT/.recipe")
cp "$MNT/.recipe" "$TMP/recipe.yml"
equal "$(stat -c %s "$TMP/recipe.yml")" "$size"
cat "$TMP/recipe.yml"
cp "$MNT/model.gguf" "$TMP/first.gguf"
# The same state has the same recipe.
cmp "$MNT/.recipe" "$TMP/recipe.yml"
cat "$MNT/organs/blk_4_ffn_up.bin" >"$TMP/piped.bin"

# A crash does not change the recipe.
kill_daemon
mount_model -o noassemble "$TMP/first/base.gguf"
same "$MNT/.recipe" "$TMP/recipe.yml"
unmount_and_wait "$MNT"
unmount_and_wait "$TMP/donor"

# The recipe is replayed elsewhere.
cp "$TMP/first/base.gguf" "$TMP/second/base.gguf"
mv "$TMP/first/donor.gguf" "$TMP/donors/renamed.gguf"
mv "$TMP/first/style.gguf" "$TMP/donors/tone.gguf"
mkdir "$TMP/first/away"
mv "$TMP/first/base.gguf" "$TMP/first/away"
mkdir "$TMP/organs"
mv "$TMP/piped.bin" "$TMP/one.bin" "$TMP/organs"
mkdir "$TMP/beside"
mv "$TMP/recipe.yml" "$TMP/beside"

# Without donors the messages list everything that is missing.
mount_model -o noassemble,layer="$TMP/layer" "$TMP/second/base.gguf"
if cp "$TMP/beside/recipe.yml" "$MNT/.recipe"; then
	fail 'a recipe without its donors was taken'
fi
cat "$MNT/.log"
equal "$(grep -c 'missing: donor.gguf' "$MNT/.log")" 1
equal "$(grep -c 'missing: style.gguf' "$MNT/.log")" 1
equal "$(grep -c 'missing: for organs/blk_' "$MNT/.log")" 2
equal "$(cat "$MNT/.grafts")" ''
same "$MNT/model.gguf" "$TMP/second/base.gguf"
unmount_and_wait "$MNT"

mount_model -o noassemble,layer="$TMP/layer",donors="$TMP/donors:$TMP/organs" \
	"$TMP/second/base.gguf"
cp "$TMP/beside/recipe.yml" "$MNT/.recipe" || fail "$(cat "$MNT/.log")"
same "$MNT/model.gguf" "$TMP/first.gguf"
cat "$MNT/.grafts"
# A second replay changes nothing, even though links lead to other places by now.
kill_daemon
mount_model -o noassemble,layer="$TMP/layer" "$TMP/second/base.gguf"
same "$MNT/model.gguf" "$TMP/first.gguf"
cp "$MNT/.recipe" "$TMP/now.yml"
cp "$TMP/beside/recipe.yml" "$MNT/.recipe" || fail "$(cat "$MNT/.log")"
log_says 'is already as the recipe says'
same "$MNT/.recipe" "$TMP/now.yml"

# A changed model refuses a recipe.
echo all >"$MNT/.undo"
same "$MNT/model.gguf" "$TMP/second/base.gguf"
rm "$MNT/organs/blk_4_ffn_down.bin"
if cp "$TMP/beside/recipe.yml" "$MNT/.recipe"; then
	fail 'it was taken by a model that is changed'
fi
grep -q 'changed already' "$MNT/.log" || fail "$(cat "$MNT/.log")"
equal "$(cut -f 1,2 "$MNT/.grafts")" "$(printf 'organs/blk_4_ffn_down.bin\tremoved')"
unmount_and_wait "$MNT"

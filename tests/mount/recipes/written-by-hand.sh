#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# A mount with the same -o recipe= and layer= can be repeated, as fstab does, even with a recipe
# written by hand: in another order, without optional parts, with values in another form.
. "${0%/*}/../lib.sh"

cp "$(use scribe-Q4_K_M)" "$TMP/base.gguf"
cp "$(use clerk-Q4_K_M)" "$TMP/clerk.gguf"
"$LORA" make "$TMP/base.gguf" "$TMP/style.gguf" 'blk.[01].attn_q.weight'
mkdir "$TMP/donor"
mount_model -o ro "$TMP/clerk.gguf" "$TMP/donor"
mount_model -o noassemble,fresh "$TMP/base.gguf"
ln -sf "$TMP/donor/organs/blk_1_ffn_up.bin" "$MNT/organs/"
blocks=$(cat "$MNT/metadata/llama.block_count") # the base's own value is no edit
sed '/^donors/,$d; /^grafts/,$d' "$MNT/.recipe" >"$TMP/by-hand.yml"
unmount_and_wait "$MNT"
cat >>"$TMP/by-hand.yml" <<EOF
options: {merged: keep}
grafts:
- {slot: organs/blk_5_ffn_up, how: reference, donor: base, from: blk.1.ffn_up.weight}
- {slot: organs/blk_1_ffn_up, how: link, target: $TMP/donor/organs/blk_1_ffn_up.bin}
- {slot: organs/blk_0_ffn_up, how: removed}
metadata:
- {key: general.url, value: here}
- {key: general.name, value: name}
- {key: llama.rope.freq_base, value: " +2.500e4 "}
- {key: general.architecture, value: llama}
- {key: llama.block_count, type: uint32, value: "$blocks"}
adapters:
- {file: style.scale, value: "0.50"}
- {file: style.gguf, target: $TMP/style.gguf}
EOF
for time in 1 2 3; do
	mount_model -o layer="$TMP/layer",recipe="$TMP/by-hand.yml" "$TMP/base.gguf"
	equal "$(cut -f 1,2 "$MNT/.grafts" | grep -c .)" 9
	cp "$MNT/model.gguf" "$TMP/$time.gguf"
	same "$TMP/$time.gguf" "$TMP/1.gguf"
	equal "$(cat "$MNT/metadata/llama.rope.freq_base")" 25000
	unmount_and_wait "$MNT"
done
# An additional item makes another recipe.
echo '- {file: other.scale, value: "1.5"}' >>"$TMP/by-hand.yml"
if "$ORGANFS" -o layer="$TMP/layer",recipe="$TMP/by-hand.yml" "$TMP/base.gguf" "$MNT" \
	2>"$TMP/said"; then
	fail 'it is mounted'
fi
grep -q 'changed already' "$TMP/said" || fail "$(cat "$TMP/said")"
unmount_and_wait "$TMP/donor"

#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Pairs copied from an adapter's own mount into a model's adapters: each is merged once it is
# complete, is no part of the assembled model, and ends with its removal. An adapter mounted alone
# is a model of its own.
. "${0%/*}/../lib.sh"

base=$TMP/host.gguf
a=$TMP/a.gguf
"$LORA" host "$base"
"$LORA" make "$base" "$a" '*.weight' --alpha 10 --rank 5
pair=adapters/blk_0_attn_k_weight_lora

same_organs() {
	local tensor name
	for tensor in token_embd blk.0.ffn_gate_exps blk.0.ffn_down_exps blk.0.attn_q blk.0.attn_k \
		blk.0.attn_v blk.0.attn_norm; do
		name=${tensor//./_}
		"$LORA" organ "$base" "$tensor.weight" "$TMP/organ" "$@"
		same "$TMP/organ" "$(echo "$MNT"/*/"$name.bin")"
	done
}

mkdir "$TMP/lora"
mount_model -o noassemble "$a" "$TMP/lora"
same "$TMP/lora/model.gguf" "$a"
equal "$(cat "$TMP/lora/adapters/lora.alpha")" 10
expect_fail 'permission denied' bash -c "echo 3 >'$TMP/lora/adapters/lora.alpha'"
expect_fail 'invalid argument' ln -s "$a" "$TMP/lora/adapters/a.gguf"

mount_model -o merged=q8_0,noassemble "$base"
cp -r "$TMP/lora/adapters" "$MNT/"
equal "$(cat "$MNT/adapters/lora.alpha")" 10
equal "$(cat "$MNT/adapters/lora.scale")" 1
same_organs "$a=1"
grep -q '^adapters/lora	adapter	1	7	' "$MNT/.grafts" || fail "$(cat "$MNT/.grafts")"
echo 0.5 >"$MNT/adapters/lora.scale"
same_organs "$a=0.5"
# The assembled model has the base's tensors, in the shown types.
cp "$MNT/model.gguf" "$TMP/out.gguf"
equal "$("$GGUF" organs "$TMP/out.gguf" | cut -f1,3)" "$("$GGUF" organs "$base" | cut -f1,3)"
types=$("$GGUF" organs "$TMP/out.gguf" | cut -f2 | tr '\n' ' ')
equal "$types" 'Q8_0 F16 Q8_0 BF16 F16 Q8_0 F32 '
rm -f "$MNT/adapters/"*
same "$MNT/model.gguf" "$base"
equal "$(cat "$MNT/.grafts")" ''
equal "$(ls "$MNT/adapters")" ''

# Half a pair waits for the other half. The alpha is the donor file's.
cp "$TMP/lora/${pair}_b.bin" "$MNT/adapters/"
same "$MNT/model.gguf" "$base"
grep -q '^risky	adapters	.*1 half of a pair .* other half' "$MNT/.check" ||
	fail "$(cat "$MNT/.check")"
equal "$(cat "$MNT/adapters/lora.alpha")" 10
cp "$TMP/lora/${pair}_a.bin" "$MNT/adapters/"
"$LORA" organ "$base" blk.0.attn_k.weight "$TMP/organ" "$a=1"
same "$MNT/skeleton/blk_0_attn_k.bin" "$TMP/organ"
! grep -q '^risky	adapters' "$MNT/.check" || fail "$(cat "$MNT/.check")"
rm "$MNT/${pair}_b.bin"
same "$MNT/model.gguf" "$base"
rm "$MNT/${pair}_a.bin"
absent "$MNT/adapters/lora.alpha"

# Pairs of another donor take the existing alpha; the log says so, once.
"$LORA" make "$base" "$TMP/b.gguf" '*.weight' --alpha 40 --rank 5
mkdir "$TMP/other"
mount_model -o noassemble "$TMP/b.gguf" "$TMP/other"
cp "$TMP/lora/adapters/"*.bin "$MNT/adapters/"
cp "$TMP/other/adapters/"*.bin "$MNT/adapters/"
equal "$(cat "$MNT/adapters/lora.alpha")" 10
equal "$(grep -c 'alpha 40, .* have 10' \
	"$MNT/.log")" 1
unmount_and_wait "$TMP/other"
rm "$MNT/adapters/"*.bin

# Links to halves work as copies do.
ln -s "$TMP/lora/${pair}_a.bin" "$TMP/lora/${pair}_b.bin" "$MNT/adapters/"
equal "$(cat "$MNT/adapters/lora.alpha")" 10
same "$MNT/skeleton/blk_0_attn_k.bin" "$TMP/organ"
rm "$MNT/$pair"_[ab].bin
same "$MNT/model.gguf" "$base"

# Without a known donor the scale alone counts, and the log says so.
cp "$TMP/lora/${pair}_a.bin" "$TMP/a.bin"
cp "$TMP/lora/${pair}_b.bin" "$TMP/b.bin"
cp "$TMP/a.bin" "$MNT/${pair}_a.bin"
cp "$TMP/b.bin" "$MNT/${pair}_b.bin"
log_says 'with the scale alone'
equal "$(cat "$MNT/adapters/lora.alpha")" 0
"$LORA" make "$base" "$TMP/plain.gguf" '*.weight' --alpha 0 --rank 5
"$LORA" organ "$base" blk.0.attn_k.weight "$TMP/organ" "$TMP/plain.gguf=1"
same "$MNT/skeleton/blk_0_attn_k.bin" "$TMP/organ"
echo 10 >"$MNT/adapters/lora.alpha"
"$LORA" organ "$base" blk.0.attn_k.weight "$TMP/organ" "$a=1"
same "$MNT/skeleton/blk_0_attn_k.bin" "$TMP/organ"
# A linked file of the same name adds to the pairs.
ln -s "$TMP/plain.gguf" "$MNT/adapters/lora.gguf"
"$LORA" organ "$base" blk.0.attn_k.weight "$TMP/organ" "$TMP/plain.gguf=1" "$a=1"
same "$MNT/skeleton/blk_0_attn_k.bin" "$TMP/organ"
rm -f "$MNT/$pair"_*
unmount_and_wait

# If an added tensor is removed, its half waits, also at the next mount.
mount_model -o merged=q8_0,noassemble "$base"
"$GGUF" organ "$base" blk.0.attn_k.weight "$TMP/k.bin"
cp "$TMP/k.bin" "$MNT/skeleton/blk_1_attn_k.bin"
cp "$TMP/a.bin" "$MNT/adapters/blk_1_attn_k_weight_lora_a.bin"
cp "$TMP/b.bin" "$MNT/adapters/blk_1_attn_k_weight_lora_b.bin"
differ "$MNT/skeleton/blk_1_attn_k.bin" "$TMP/k.bin"
rm "$MNT/skeleton/blk_1_attn_k.bin"
unmount_and_wait
mount_model -o merged=q8_0,noassemble "$base"
exists "$MNT/adapters/blk_1_attn_k_weight_lora_a.bin"
! grep 'left alone' "$MNT/.log" || fail 'a half was left alone'
cp "$TMP/k.bin" "$MNT/skeleton/blk_1_attn_k.bin"
differ "$MNT/skeleton/blk_1_attn_k.bin" "$TMP/k.bin"
rm "$MNT/skeleton/blk_1_attn_k.bin" "$MNT"/adapters/blk_1_*.bin
unmount_and_wait

# The result equals that of llama-export-lora; the adapters of the layer are in force again.
mount_model -o merged=f16,noassemble "$base"
same_organs --f16 "$TMP/plain.gguf=1"
unmount_and_wait
unmount_and_wait "$TMP/lora"

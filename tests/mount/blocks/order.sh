#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# blocks/order: one line of numbers repeats, prunes and moves blocks, all or nothing. The model
# equals that of the corresponding merge byte for byte; .undo, a kill and a recipe keep it.
. "${0%/*}/../lib.sh"

need python3
base=$(use scribe-Q4_K_M) donor=$(use clerk-Q4_K_M)
cd "$TMP"
mount_model -o noassemble "$base"
order=$MNT/blocks/order

# matches: block K of the result is the base's block that the order has in place K.
matches() {
	local k=0 block organ
	for block; do
		for organ in "$MNT/.base"/*/blk_"${block}"_*.bin; do
			cmp <(tail -c 1000 "$organ") <(tail -c 1000 \
				"$MNT/blocks/$k/$(basename "$organ" | sed 's/blk_[0-9]*_//')") ||
				fail "block $k is not block $block: $organ"
		done
		k=$((k + 1))
	done
	equal "$(cat "$MNT/metadata/llama.block_count")" $k
	equal "$(ls "$MNT/blocks" | grep -vc order)" $k
}

equal "$(cat "$order")" 0-5
echo 0-5 >"$order"
equal "$(cat "$MNT/.grafts")" ''
echo 0-3 2-5 >"$order"
equal "$(cat "$order")" '0-3 2-5'
matches 0 1 2 3 2 3 4 5
equal "$(wc -l <"$MNT/.grafts")" 1
printf 'merge_method: passthrough\nslices:\n' >merge.yml
printf -- '- sources: [{model: scribe-Q4_K_M, layer_range: [0, 4]}]\n' >>merge.yml
printf -- '- sources: [{model: scribe-Q4_K_M, layer_range: [2, 6]}]\n' >>merge.yml
cp "$MNT/model.gguf" repeated.gguf
grep -q '^ok.blocks.8 from 0 on' "$MNT/.check" || fail "$(cat "$MNT/.check")"
grep -q '>7<' "$MNT/theta.svg" || fail 'the picture has no block 7'
cp "$MNT/.recipe" recipe
kill_daemon
mount_model -o noassemble "$base"
equal "$(cat "$order")" '0-3 2-5'
same "$MNT/model.gguf" repeated.gguf
sed -i '' "$order" 2>/dev/null || log_says 'in place'
# The written numbers are the base's, not those of the current order.
echo 1 0 3-5 >"$order"
matches 1 0 3 4 5
grep -q '^# blocks/order.order' "$MNT/.undo" || fail "$(cat "$MNT/.undo")"
echo blocks/order >"$MNT/.undo"
same "$MNT/model.gguf" "$base"
equal "$(cat "$order")" 0-5
equal "$(grep -c order "$MNT/.undo" || true)" 0
cp recipe "$MNT/.recipe"
equal "$(cat "$order")" '0-3 2-5'
same "$MNT/model.gguf" repeated.gguf
echo all >"$MNT/.undo"
same "$MNT/model.gguf" "$base"
cp merge.yml "$MNT/.merge"
same "$MNT/model.gguf" repeated.gguf
equal "$(cat "$order")" '0-3 2-5'
echo 0-5 >"$order"
absent "$MNT/.merge"

# refused WHY LINE: the line changes nothing.
refused() {
	local before
	before=$(cat "$order")
	(echo "$2" >"$order") 2>said && fail "not refused: $1"
	log_says "blocks/order: refused: .*$1"
	equal "$(cat "$order")" "$before"
}
refused '"6" is neither' '0-3 6'
refused '"4-6" is neither' 4-6
refused 'backwards' 5-3
refused 'no block' ''
refused '"-1" is neither' -1
refused '"0,1" is neither' 0,1
refused '"99999999999999999999" is neither' 99999999999999999999
refused 'at most 1024 ranges' "$(yes 0 | head -n 1025 | xargs)"

# A graft keeps its number, and the block beneath that it was made for.
echo 0-3 2-5 >"$order"
cp "$donor" d.gguf
mkdir donor
mount_model -o ro d.gguf "$TMP/donor"
cp donor/organs/blk_1_ffn_up.bin "$MNT/blocks/1/ffn_up.bin"
echo 0-2 2-5 >"$order"
matches_count=$(cat "$MNT/metadata/llama.block_count")
equal "$matches_count" 7
refused 'organs/blk_1_ffn_up.bin is changed.*take the place of block 1' '1 0 2-5'
echo blk_1_ffn_up >"$MNT/.undo"
echo 1 0 2-5 >"$order"
# A merge of other models has its own order.
printf 'merge_method: passthrough\nmodels: [{model: %s}]\n' "$TMP/d.gguf" >"$MNT/.merge"
grep -q '^# a merge is in force' "$order" || fail "$(cat "$order")"
(echo 0 >"$order") 2>/dev/null && fail 'an order over a merge'
log_says 'blocks/order: refused: a merge is in force'
rm "$MNT/.merge"
same "$MNT/model.gguf" "$base"
unmount_and_wait "$TMP/donor"
unmount_and_wait

# In a mount of several models an order applies to its own model, whose name may be any.
cp "$base" "it's 1+1.gguf"
mount_model -o noassemble "$PWD"
echo 5 0-4 >"$MNT/it's 1+1/blocks/order"
equal "$(cat "$MNT/it's 1+1/blocks/order")" '5 0-4'
same "$MNT/scribe-Q4_K_M/model.gguf" "$base"
unmount_and_wait

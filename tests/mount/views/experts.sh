#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# .views/experts: the slice of each expert in each tensor, moved, swapped and omitted.
. "${0%/*}/../lib.sh"

"$GGUF" experts "$MODELS/stories260K.gguf" "$TMP/moe.gguf" 8
# attribute NAME FILE: print it.
attribute() {
	getfattr --absolute-names --only-values -n "user.organfs.$1" "$2"
}

mount_model "$TMP/moe.gguf"
experts=$MNT/.views/experts/organs
up=$experts/blk_1_ffn_up_exps

equal "$(ls "$experts" | wc -l)" 20
equal "$(cd "$up" && echo *)" "$(echo 00{0..7}.bin order)"
equal "$(cat "$up/order")" "0 1 2 3 4 5 6 7"
absent "$experts/blk_1_ffn_norm"
absent "$up/008.bin"
absent "$up/7.bin"
equal "$(attribute shape "$up/005.bin")" 64x172
equal "$(attribute shape "$experts/blk_1_ffn_gate_inp/005.bin")" 64

# Together the slices' bytes are the stack's.
data() {
	tail -c +$((8 + $(attribute tensor "$1" | wc -c) + 8 * $2 + 4 + 1)) "$1"
}
for i in 0 1 2 3 4 5 6 7; do
	data "$up/00$i.bin" 2
done >"$TMP/slices"
data "$MNT/organs/blk_1_ffn_up_exps.bin" 3 >"$TMP/stack"
same "$TMP/slices" "$TMP/stack"

# Write one expert in place of another, from this model or another.
cp "$up/002.bin" "$up/005.bin"
same "$up/002.bin" "$up/005.bin"
equal "$(cut -f 1,2 "$MNT/.grafts")" "organs/blk_1_ffn_up_exps.bin	copy"
cp "$MNT/.base/organs/blk_1_ffn_up_exps.bin" "$MNT/organs/"
equal "$(wc -c <"$MNT/.grafts")" 0
differ "$up/002.bin" "$up/005.bin"
cp "$up/003.bin" "$TMP/organ"
dd if="$TMP/organ" of="$up/004.bin" conv=notrunc bs=1000 status=none
same "$TMP/organ" "$up/004.bin"
cp "$MNT/.base/organs/blk_1_ffn_up_exps.bin" "$MNT/organs/"

# Slices of other shapes do not fit.
expect_fail 'Invalid argument' cp "$experts/blk_1_ffn_down_exps/000.bin" "$up/000.bin"
log_says 'shape is 172x64, .* 64x172'
expect_fail 'Invalid argument' cp /etc/hostname "$up/000.bin"
# The kernel refuses this to users, organfs to root.
expect_fail 'denied|not permitted' rm "$up/000.bin"
expect_fail 'denied|not permitted' mv "$up/000.bin" "$up/001.bin"
echo 0 1 2 9 >"$TMP/order"
expect_fail 'Invalid argument' cp "$TMP/order" "$up/order"
log_says 'there is no expert 9; they are 0 to 7'
equal "$(wc -c <"$MNT/.grafts")" 0

# An empty slot has no experts, and a filled one has them again.
rm "$MNT/organs/blk_1_ffn_up_exps.bin"
absent "$up"
cp "$MNT/.base/organs/blk_1_ffn_up_exps.bin" "$MNT/organs/"
exists "$up/007.bin"

# The slot, not the header's name, makes a tensor a stack.
{ printf '\5\0\0\0other' && tail -c +29 "$MNT/organs/blk_1_ffn_up_exps.bin"; } >"$TMP/other"
cp "$TMP/other" "$MNT/organs/blk_1_ffn_up_exps.bin"
equal "$(stat -c %i "$up"/* | sort -u | wc -l)" 9
grep -q '^ok	experts	8, as expert_count says' "$MNT/.check" || fail "$(cat "$MNT/.check")"
cp "$TMP/organ" "$up/006.bin"
same <(tail -c 44032 "$up/006.bin") <(tail -c 44032 "$TMP/organ")
cp "$MNT/.base/organs/blk_1_ffn_up_exps.bin" "$MNT/organs/"

# An order is obeyed once, even if two threads close its descriptors at the same moment.
for _ in {1..16}; do
	second=$(checksum "$up/001.bin")
	"${ORGANFS%/*}/tests/tools/closes" "$up/order" 2 '1 2 3 4 5 6 7 0'
	equal "$(checksum "$up/000.bin")" "$second" 'the first expert'
done
equal "$(wc -l <"$MNT/.grafts")" 0

# Two experts are swapped everywhere, which gives the same model; models/npm.sh lets it generate.
for d in "$MNT"/.views/experts/*/*/; do
	echo 0 1 5 3 4 2 6 7 >"$d/order"
done
equal "$(wc -l <"$MNT/.grafts")" 20
cp "$MNT/model.gguf" "$TMP/swapped.gguf"
for d in "$MNT"/.views/experts/*/*/; do
	echo 0 1 5 3 4 2 6 7 >"$d/order"
done
equal "$(wc -l <"$MNT/.grafts")" 0
same "$MNT/model.gguf" "$TMP/moe.gguf"

# One expert is omitted everywhere, as in the README; the next mount finds it so.
for d in "$MNT"/.views/experts/*/*/; do
	echo 0 1 2 3 4 6 7 >"$d/order"
done
grep -q '^impossible	experts	20 of 20' "$MNT/.check" || fail "$(cat "$MNT/.check")"
echo 7 >"$MNT/metadata/llama.expert_count"
grep -q '^ok	experts	7, as expert_count says' "$MNT/.check" || fail "$(cat "$MNT/.check")"
equal "$(attribute shape "$MNT/organs/blk_1_ffn_up_exps.bin")" 64x172x7
equal "$(ls "$up" | wc -l)" 8
! grep ^impossible "$MNT/.check" || fail "$(cat "$MNT/.check")"
cp "$MNT/model.gguf" "$TMP/seven.gguf"
kill_daemon
mount_model -o noassemble "$TMP/moe.gguf"
equal "$(cat "$up/order")" "0 1 2 3 4 5 6"
same "$MNT/model.gguf" "$TMP/seven.gguf"
equal "$("$GGUF" organs "$TMP/seven.gguf" | grep -c 'x7	')" 20

# Both of two concurrent writers of one stack count.
cp "$up/000.bin" "$TMP/zero"
writers=()
for i in 3 4 5; do
	cp "$TMP/zero" "$up/00$i.bin" &
	writers+=($!)
done
wait "${writers[@]}"
for i in 3 4 5; do
	same "$up/00$i.bin" "$TMP/zero"
done
unmount_and_wait
mount_model -o ro "$TMP/moe.gguf"
expect_fail 'Read-only' cp "$TMP/zero" "$up/003.bin"
unmount_and_wait

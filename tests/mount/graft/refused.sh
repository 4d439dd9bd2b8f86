#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# A file that is no organ for the slot is refused at close with a reason, and changes nothing.
. "${0%/*}/../lib.sh"

base=$(use stories260K)
slot=$MNT/organs/blk_1_ffn_up.bin
"$GGUF" organ "$MODELS/stories260K-donor.gguf" blk.1.ffn_up.weight "$TMP/good.bin"
mount_model "$base"
cp "$slot" "$TMP/before.bin"
before=$(($(descriptors) + 4)) # the first writer opens the layer
size=$(stat -c %s "$TMP/good.bin")

refuse() {
	echo "$1"
	expect_fail 'Invalid argument' cp "$TMP/bad.bin" "$slot"
	same "$slot" "$TMP/before.bin"
	equal "$(stat -c %s "$slot")" "$(stat -c %s "$TMP/before.bin")" 'size of the slot'
	same "$MNT/model.gguf" "$base"
	equal "$(wc -c <"$MNT/.grafts")" 0 'bytes in .grafts'
	log_says 'organs/blk_1_ffn_up\.bin'
	log_says "$2"
}

echo 'This is no organ at all, but a text of some length that was copied here.' >"$TMP/bad.bin"
refuse 'a text' 'organ|name'
head -c $((size - 1)) "$TMP/good.bin" >"$TMP/bad.bin"
refuse 'a byte too few' "byte|short|$((size - 1))"
{ cat "$TMP/good.bin"; printf x; } >"$TMP/bad.bin"
refuse 'a byte too many' "byte|long|$((size + 1))"
head -c 20 "$TMP/good.bin" >"$TMP/bad.bin"
refuse 'half a header' 'organ|end|byte|short'
printf 'abc' >"$TMP/bad.bin"
refuse 'three bytes' 'organ|end|byte|short'
"$GGUF" organ "$base" blk.1.ffn_down.weight "$TMP/bad.bin"
refuse 'another shape' 'shape|172x64'
{ printf '\0\0\0\200'; tail -c +5 "$TMP/good.bin"; } >"$TMP/bad.bin"
refuse 'name_len 2^31' 'name|2147483648'
name=$(od -An -tu4 -N4 "$TMP/good.bin" | tr -d ' ')
{
	head -c $((4 + name)) "$TMP/good.bin"
	printf '\0\0\0\200'
	tail -c +$((9 + name)) "$TMP/good.bin"
} >"$TMP/bad.bin"
refuse 'n_dims 2^31' 'axes|dim|2147483648'
{
	head -c $((8 + name)) "$TMP/good.bin"
	printf '\377\377\377\377\377\377\377\177'
	tail -c +$((17 + name)) "$TMP/good.bin"
} >"$TMP/bad.bin"
refuse 'an axis of 2^63' 'shape|elements|byte|size|axis'
{
	head -c $((8 + name + 16)) "$TMP/good.bin"
	printf '\004\0\0\0'
	tail -c +$((8 + name + 16 + 5)) "$TMP/good.bin"
} >"$TMP/bad.bin"
refuse 'a type that was removed' 'type'
cp "$base" "$TMP/bad.bin"
refuse 'a whole model' 'organ|name|GGUF|model'

# A writer that fails right after open() leaves an empty file.
: >"$TMP/bad.bin"
cp "$TMP/bad.bin" "$slot" 2>/dev/null || true
same "$slot" "$TMP/before.bin"
same "$MNT/model.gguf" "$base"

cp "$TMP/good.bin" "$slot"
same "$slot" "$TMP/good.bin"
head -c 100 "$TMP/good.bin" >"$TMP/bad.bin"
expect_fail 'Invalid argument' cp "$TMP/bad.bin" "$slot"
same "$slot" "$TMP/good.bin"
no_leak "$before" # the graft is in a row

# A slot that another process removed stays removed, and the message says so.
rm "$slot"
expect_fail 'Invalid argument' cp "$TMP/bad.bin" "$slot"
log_says 'blk_1_ffn_up.bin: graft refused: .*; the slot stays removed, .*\.undo brings back'
echo all >"$MNT/.undo"
exists "$slot"
unmount_and_wait
no_litter "$XDG_STATE_HOME"

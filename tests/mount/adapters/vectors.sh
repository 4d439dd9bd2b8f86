#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Linked control vectors: their directions are removed, as NumPy does it, from the tensors that
# write to the residual stream, with any scale and with several vectors; a removal undoes it. An
# adapter from the difference does the same elsewhere.
. "${0%/*}/../lib.sh"

python3=$(PATH=/usr/bin:$PATH command -v python3)
"$python3" -c 'import numpy' 2>/dev/null || skip 'no python3-numpy'
ablate() {
	"$python3" "$here/../tools/ablate.py" "$@"
}

base=$(use stories260K)
v=$TMP/v.gguf
w=$TMP/w.gguf
ablate make "$v" 1 2 4 99
ablate make "$w" 0 1 3 --rows 3 --seed 1

# ablated_as [VECTOR=SCALE...]: the model is the base without these directions.
ablated_as() {
	cp "$MNT/model.gguf" "$TMP/now"
	ablate check "$base" "$TMP/now" "$@" >"$TMP/changed"
}

adapter_is() {
	grep -q "^adapters/$1	adapter	$2	$3	" "$MNT/.grafts" ||
		fail "$(cat "$MNT/.grafts")"
}

mount_model -o "output=$TMP/out.gguf" "$base"
slot=$MNT/organs/blk_2_ffn_down.bin
cp "$slot" "$TMP/before"
exec 3<"$slot"
ln -s "$v" "$MNT/adapters/v.gguf"
equal "$(cat "$MNT/adapters/v.scale")" 1
ablated_as "$v=1"
equal "$(cat "$TMP/changed")" 6
adapter_is v.gguf 1 6
grep -q '^organs/blk_2_ffn_down.bin	merged	' "$MNT/.grafts" || fail "$(cat "$MNT/.grafts")"
cat <&3 >"$TMP/held"
same "$TMP/held" "$TMP/before"
exec 3<&-
# Reads of pieces, in any order and before a read of the whole, give the same bytes.
python3 - "$MNT/skeleton/blk_4_attn_output.bin" <<-'END' || fail 'pieces differ'
	import os, random, sys
	fd = os.open(sys.argv[1], os.O_RDONLY | os.O_DIRECT)
	size = os.fstat(fd).st_size
	numbers = random.Random(1)
	pieces = [(at := numbers.randrange(size), os.pread(fd, 99, at)) for _ in range(100)]
	whole = os.pread(fd, size, 0)
	assert len(whole) == size
	for at, piece in pieces:
	    assert piece == whole[at:at + 99], at
END

# The scale is written.
echo 0.5 >"$MNT/adapters/v.scale"
ablated_as "$v=0.5"
echo -2 >"$MNT/adapters/v.scale"
ablated_as "$v=-2"
# A gradient goes over the blocks, in mergekit's form or with blanks; lengths can be kept.
echo '[0, 1.5,0.5]' >"$MNT/adapters/v.scale"
equal "$(cat "$MNT/adapters/v.scale")" '0 1.5 0.5'
ablated_as "$v=0,1.5,0.5"
adapter_is v.gguf '0 1.5 0.5' 6
echo '1 norm=keep' >"$MNT/adapters/v.scale"
ablated_as "$v=1,keep"
adapter_is v.gguf '1 norm=keep' 6
echo '0.5 -1 norm=keep' >"$MNT/adapters/v.scale"
ablated_as "$v=0.5,-1,keep"
"$LORA" make "$base" "$TMP/lora.gguf" 'blk.1.ffn_down.weight'
expect_fail 'invalid argument|not permitted' ln -sfT "$TMP/lora.gguf" "$MNT/adapters/v.gguf"
log_says 'adapters/v.gguf: refused: norm=keep is for control vectors, and v.gguf is none'
cp "$MNT/model.gguf" "$TMP/kept"
cp "$MNT/.recipe" "$TMP/recipe"
kill_daemon
mount_model -o "output=$TMP/out.gguf" "$base"
same "$MNT/model.gguf" "$TMP/kept"
echo adapters >"$MNT/.undo"
same "$MNT/model.gguf" "$base"
cp "$TMP/recipe" "$MNT/.recipe"
same "$MNT/model.gguf" "$TMP/kept"
equal "$(cat "$MNT/adapters/v.scale")" '0.5 -1 norm=keep'
echo 0 >"$MNT/adapters/v.scale"
same "$MNT/model.gguf" "$base"
same "$slot" "$TMP/before"
adapter_is v.gguf 0 0
rm "$MNT/adapters/v.scale"
ablated_as "$v=1"

# A second removal from the result changes nothing.
cp "$MNT/model.gguf" "$TMP/once"
mkdir "$TMP/other"
mount_model -o noassemble "$TMP/once" "$TMP/other"
ln -s "$v" "$TMP/other/adapters/"
ablate same "$TMP/other/model.gguf" "$TMP/once" --off 1e-6
unmount_and_wait "$TMP/other"

# An adapter of rank 1 makes or reverses the same change, for programs without control vectors.
cp "$MNT/.diff/base.lora-1.gguf" "$TMP/back.gguf"
# differs_by_adapter MODEL OTHER SCALE: check that.
differs_by_adapter() {
	mount_model -o noassemble,fresh "$1" "$TMP/other"
	ln -s "$TMP/back.gguf" "$TMP/other/adapters/"
	echo "$3" >"$TMP/other/adapters/back.scale"
	ablate same "$TMP/other/model.gguf" "$2"
	unmount_and_wait "$TMP/other"
}
differs_by_adapter "$TMP/once" "$base" 1
differs_by_adapter "$base" "$TMP/once" -1

# Directions of several rows follow those of the first vector.
ln -s "$w" "$MNT/adapters/"
ablated_as "$v=1" "$w=1"
adapter_is w.gguf 1 7
# The directions are removed from a LoRA adapter's part as well.
"$LORA" merge "$base" "$TMP/merged" "$TMP/lora.gguf=1" >"$TMP/changed"
ln -s "$TMP/lora.gguf" "$MNT/adapters/a.gguf"
cp "$MNT/model.gguf" "$TMP/now"
ablate check "$TMP/merged" "$TMP/now" "$v=1" "$w=1" >"$TMP/changed"
rm "$MNT/adapters/a.gguf" "$MNT/adapters/w.gguf"
# The directions are removed from a graft as well.
"$GGUF" organ "$MODELS/stories260K-donor.gguf" blk.2.ffn_down.weight "$TMP/graft"
cp "$TMP/graft" "$slot"
"$GGUF" splice "$base" "$MODELS/stories260K-donor.gguf" blk.2.ffn_down.weight "$TMP/spliced"
cp "$MNT/model.gguf" "$TMP/now"
ablate check "$TMP/spliced" "$TMP/now" "$v=1" >"$TMP/changed"
echo organs/blk_2_ffn_down.bin >"$MNT/.undo"
same "$MNT/model.gguf" "$TMP/once"

# The vectors are undone, set by a recipe, taken up by the next mount, and assembled.
cp "$MNT/.recipe" "$TMP/recipe"
echo adapters >"$MNT/.undo"
equal "$(cat "$MNT/.grafts")" ''
same "$MNT/model.gguf" "$base"
cp "$TMP/recipe" "$MNT/.recipe"
same "$MNT/model.gguf" "$TMP/once"
kill_daemon
mount_model -o "output=$TMP/out.gguf" "$base"
same "$MNT/model.gguf" "$TMP/once"
rm "$MNT/adapters/v.gguf"
same "$MNT/model.gguf" "$base"
ln -s "$v" "$MNT/adapters/"
echo "$TMP/assembled.gguf" >"$MNT/.assemble"
same "$TMP/assembled.gguf" "$TMP/once"
unmount_and_wait
same "$TMP/out.gguf" "$TMP/once"

# Stacks of experts, biases, and F16 tensors.
ablate host "$TMP/host.gguf"
base=$TMP/host.gguf
mount_model -o noassemble "$base"
ln -s "$v" "$w" "$MNT/adapters/"
ablated_as "$v=1" "$w=1"
equal "$(cat "$TMP/changed")" 7
echo '1 norm=keep' >"$MNT/adapters/v.scale"
echo '0.9 0.5 norm=keep' >"$MNT/adapters/w.scale"
ablated_as "$v=1,keep" "$w=0.9,0.5,keep"
rm "$MNT/adapters/"*.gguf

# refused REASON BLOCKS... [OPTIONS]: such a vector is refused.
refused() {
	rm -f "$TMP/x.gguf"
	ablate make "$TMP/x.gguf" "${@:2}"
	expect_fail 'invalid argument' ln -s "$TMP/x.gguf" "$MNT/adapters/x.gguf"
	log_says "adapters/x.gguf: refused: .*$1.*; nothing is changed"
	absent "$MNT/adapters/x.gguf"
}
refused 'direction.1 has rows of 32 values, and blk.1.* writes 64: it is for another model' \
	1 --channels 32
refused 'direction.1 has a row of zeros' 0 1 --value 0
refused 'direction.1 has a value that is not finite' 0 1 --value nan
refused 'direction.01 is no direction.N' 0 01
refused 'no direction for any block' 7 8
refused 'no control vector' 0 1 --architecture llama
equal "$(cat "$MNT/.grafts")" ''
same "$MNT/model.gguf" "$base"
unmount_and_wait

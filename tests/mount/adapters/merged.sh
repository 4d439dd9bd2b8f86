#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Linked adapters: every changed tensor reads as another program merges it, in organ files, θ,
# model.gguf and assembly, with any scale and with several adapters; a removal undoes it.
. "${0%/*}/../lib.sh"

base=$(use stories260K)
a=$TMP/a.gguf
b=$TMP/b.gguf
"$LORA" make "$base" "$a" 'blk.[01].attn_q.weight' token_embd.weight --seed a
"$LORA" make "$base" "$b" 'blk.1.*' --rank 3 --alpha 0 --type F16 --seed b

# merged_as ADAPTER=SCALE...: the model equals the base merged with these adapters.
merged_as() {
	"$LORA" merge "$base" "$TMP/expected" "$@" >"$TMP/changed"
	same "$MNT/model.gguf" "$TMP/expected"
}

adapter_is() {
	grafts_say "adapters/$1	$2	$3	$4	"
}

grafts_say() {
	grep -q "^$1" "$MNT/.grafts" || fail "$(cat "$MNT/.grafts")"
}

mount_model -o "output=$TMP/out.gguf" "$base"
expect_fail 'file exists' mkdir "$MNT/adapters"
! ls "$MNT" | grep -qx adapters || fail 'adapters is listed, and there are none'
slot=$MNT/skeleton/blk_1_attn_q.bin
exec 3<"$slot"
ln -s "$a" "$MNT/adapters/a.gguf"
ls "$MNT" | grep -qx adapters || fail 'adapters is not listed'
equal "$(readlink "$MNT/adapters/a.gguf")" "$a"
equal "$(cat "$MNT/adapters/a.scale")" 1
merged_as "$a=1"
adapter_is a.gguf adapter 1 "$(cat "$TMP/changed")"
grafts_say 'skeleton/blk_1_attn_q.bin	merged	F32	64x64	'
"$GGUF" organ "$TMP/expected" blk.1.attn_q.weight "$TMP/organ"
same "$slot" "$TMP/organ"
# A process that had the organ open reads the old content.
"$GGUF" organ "$base" blk.1.attn_q.weight "$TMP/before"
cat <&3 >"$TMP/held"
same "$TMP/held" "$TMP/before"
exec 3<&-
# Reads of pieces, in any order, give the same bytes.
python3 - "$slot" "$TMP/organ" <<-'END' || fail 'pieces differ'
	import os, random, sys
	fd, whole = os.open(sys.argv[1], os.O_RDONLY | os.O_DIRECT), open(sys.argv[2], "rb").read()
	numbers = random.Random(1)
	for _ in range(300):
	    at = numbers.randrange(len(whole))
	    n = numbers.choice([1, 3, 100, 256, 4096])
	    assert os.pread(fd, n, at) == whole[at:at + n], (at, n)
END

# θ and hashes describe the merged content.
mkdir "$TMP/other"
mount_model -o noassemble "$TMP/expected" "$TMP/other"
for name in skeleton/blk_1_attn_q embed/token_embd; do
	same "$MNT/$name.theta" "$TMP/other/$name.theta"
	equal "$(grep "$name.bin" "$MNT/checksums.xxh128")" \
		"$(grep "$name.bin" "$TMP/other/checksums.xxh128")"
done
unmount_and_wait "$TMP/other"

# The scale is written.
echo 0.5 >"$MNT/adapters/a.scale"
equal "$(cat "$MNT/adapters/a.scale")" 0.5
merged_as "$a=0.5"
printf ' -1.50 ' >"$TMP/scale"
cp "$TMP/scale" "$MNT/adapters/a.scale"
equal "$(cat "$MNT/adapters/a.scale")" -1.5
merged_as "$a=-1.5"
sed -i s/-1.5/2/ "$MNT/adapters/a.scale"
merged_as "$a=2"
adapter_is a.gguf adapter 2 "$(cat "$TMP/changed")"
echo 0 >"$MNT/adapters/a.scale"
same "$MNT/model.gguf" "$base"
same "$slot" "$TMP/before"
adapter_is a.gguf adapter 0 0
rm "$MNT/adapters/a.scale"
equal "$(cat "$MNT/adapters/a.scale")" 1
# A gradient goes over the blocks. Lengths are kept only where directions are removed.
echo 0 0.5 -2 >"$MNT/adapters/a.scale"
merged_as "$a=0,0.5,-2"
adapter_is a.gguf adapter '0 0.5 -2' "$(cat "$TMP/changed")"
rm "$MNT/adapters/a.scale"
for junk in junk '' 1x inf nan 1e99 '1, 2' '[1 2]' '1 norm=keep'; do
	printf '%s ' "$junk" >"$TMP/scale"
	expect_fail 'invalid argument' cp "$TMP/scale" "$MNT/adapters/a.scale"
	log_says 'adapters/a.scale: refused: '
done
log_says 'refused: norm=keep is for control vectors, and a.gguf is none; nothing is changed'
merged_as "$a=1"

# Two adapters apply in the order of their names; the removal of one leaves the result of the other.
ln -s "$b" "$MNT/adapters/b.gguf"
merged_as "$a=1" "$b=1"
echo -0.25 >"$MNT/adapters/b.scale"
merged_as "$a=1" "$b=-0.25"
rm "$MNT/adapters/a.gguf"
absent "$MNT/adapters/a.scale"
merged_as "$b=-0.25"
# The name gets another file.
ln -sf "$a" "$MNT/adapters/b.gguf"
merged_as "$a=-0.25"
rm -f "$MNT/adapters/"*
equal "$(cat "$MNT/.grafts")" ''
same "$MNT/model.gguf" "$base"

# The merged content of a slot can be copied and linked elsewhere; a slot that is moved or written
# loses the adapter's part.
ln -s "$b" "$MNT/adapters/b.gguf"
cp "$MNT/organs/blk_1_ffn_up.bin" "$TMP/shown"
cp "$MNT/organs/blk_1_ffn_up.bin" "$MNT/organs/blk_2_ffn_up.bin"
ln -f "$MNT/organs/blk_1_ffn_up.bin" "$MNT/organs/blk_3_ffn_up.bin"
same "$MNT/organs/blk_2_ffn_up.bin" "$TMP/shown"
same "$MNT/organs/blk_3_ffn_up.bin" "$TMP/shown"
mv "$MNT/organs/blk_1_ffn_up.bin" "$MNT/organs/blk_4_ffn_up.bin"
absent "$MNT/organs/blk_1_ffn_up.bin"
"$GGUF" organ "$base" blk.1.ffn_up.weight "$TMP/own"
same "$MNT/organs/blk_4_ffn_up.bin" "$TMP/own"
mv "$MNT/organs/blk_4_ffn_up.bin" "$MNT/organs/blk_1_ffn_up.bin"
same "$MNT/organs/blk_1_ffn_up.bin" "$TMP/shown"
mv "$MNT/organs/blk_1_ffn_up.bin" "$MNT/organs/aside"
mv "$MNT/organs/aside" "$MNT/organs/blk_1_ffn_up.bin"
same "$MNT/organs/blk_1_ffn_up.bin" "$TMP/shown"
"$GGUF" organ "$MODELS/stories260K-donor.gguf" blk.1.ffn_up.weight "$TMP/graft"
cp "$TMP/graft" "$MNT/organs/blk_1_ffn_up.bin"
"$GGUF" splice "$base" "$MODELS/stories260K-donor.gguf" blk.1.ffn_up.weight "$TMP/spliced"
"$LORA" organ "$TMP/spliced" blk.1.ffn_up.weight "$TMP/organ" "$b=1"
same "$MNT/organs/blk_1_ffn_up.bin" "$TMP/organ"
grafts_say 'organs/blk_1_ffn_up.bin	copy merged	'
rm "$MNT/adapters/b.gguf"
same "$MNT/organs/blk_1_ffn_up.bin" "$TMP/graft"
for i in 1 2 3 4; do
	cp "$MNT/.base/organs/blk_${i}_ffn_up.bin" "$MNT/organs/"
done
equal "$(cat "$MNT/.grafts")" ''

# The unmount writes the merged model.
ln -s "$a" "$MNT/adapters/"
"$LORA" merge "$base" "$TMP/expected" "$a=1" >"$TMP/changed"
echo "$TMP/now.gguf" >"$MNT/.assemble"
same "$TMP/now.gguf" "$TMP/expected"
unmount_and_wait
same "$TMP/out.gguf" "$TMP/expected"
no_litter "$XDG_STATE_HOME"

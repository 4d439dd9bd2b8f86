#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# .check: has this chimera a chance? On pairs of models that are related, and on one that is not.
. "${0%/*}/../lib.sh"
. "${0%/*}/lib.sh"

need rsync
base=$(use scribe-Q4_K_M)
donor=$(use clerk-Q4_K_M)
other=$MNT.donor
stranger=$MNT.stranger
mkdir "$other" "$stranger"
mount_model -o shape=any "$base"
mount_model -o noassemble "$donor" "$other"
mount_model -o ro "$(use stories260K)" "$stranger"
check=$MNT/.check

# The lines have verdict, check and reason, the worst verdict first; the size is right.
has_form() {
	local size worst=ok verdict
	size=$(stat -c %s "$check")
	equal "$(cat "$check" | wc -c)" "$size" 'size of .check'
	equal "$(stat -c %s "$check")" "$size" 'size once it was read'
	! grep -vqE '^(ok|unknown|risky|impossible)	[a-z]+	[ -~]+$' "$check" ||
		fail "a strange line in $(cat "$check")"
	for verdict in unknown risky impossible; do
		! sed 1d "$check" | grep -q "^$verdict	" || worst=$verdict
	done
	equal "$(head -n 1 "$check" | cut -f 1,2)" "$worst	overall"
}
undo() {
	find "$MNT" -type l -delete
	cp "$MNT"/.base/organs/*.bin "$MNT/organs/"
	cp "$MNT"/.base/skeleton/*.bin "$MNT/skeleton/"
	cp "$MNT"/.base/embed/*.bin "$MNT/embed/"
	cp "$MNT"/.base/norm/*.bin "$MNT/norm/"
	equal "$(cat "$MNT/.grafts")" ''
	says ok overall 'no graft'
}

has_form
says ok overall 'no graft'
says ok blocks '6 from 0'
[ "$(wc -l <"$check")" -lt 10 ] || fail "$(cat "$check")"

# Whole networks of the same lineage have nothing against them.
cp "$other"/organs/*.bin "$MNT/organs/"
has_form
says ok overall '18 grafts'
says ok donor '18 grafts: blk 0-5 ffn_\*; from /.*/clerk-Q4_K_M.gguf'
says ok architecture 'both are llama'
says ok rope 'freq_base 10000'
says ok lineage 'same base; cosine 0.9'
says ok unit '6 whole'
says ok distance 'in the block'
says ok bytes "the donor's"
says ok tokenizer '260 tokens'
says ok norms '2 times'
says ok names '"Clerk"'
undo

# One tensor of three goes into another block.
cp "$other/organs/blk_5_ffn_up.bin" "$MNT/organs/blk_0_ffn_up.bin"
has_form
says risky overall '1 graft, 0 removed, 0 keys'
says risky unit 'ffn gate, up and down .* blk 0'
says risky distance 'block 5 into block 0, 5'
undo
cp "$other/organs/blk_4_ffn_up.bin" "$MNT/organs/blk_0_ffn_up.bin"
says ok distance '4 apart.* 0 '
for part in gate down; do
	cp "$other/organs/blk_4_ffn_$part.bin" "$MNT/organs/blk_0_ffn_$part.bin"
done
says ok unit '1 whole .*0 whole'
# Gate and up come from one block, down from another.
cp "$other/organs/blk_3_ffn_down.bin" "$MNT/organs/blk_0_ffn_down.bin"
says risky unit 'blk 0'
undo

# Without a known donor the content is checked, the rest is unknown.
for name in up gate; do
	cat "$other/organs/blk_2_ffn_$name.bin" | cat >"$MNT/organs/blk_2_ffn_$name.bin"
done
has_form
says risky overall 'unknown'
says unknown donor '2 grafts: blk 2 ffn_\*; .*donor is unknown'
for name in architecture dimensions rope epsilon parts tokenizer norms; do
	says unknown $name 'donor is unknown'
done
says ok lineage 'same base'
says risky unit 'blk 2'
cat "$other/organs/blk_2_ffn_down.bin" | cat >"$MNT/organs/blk_2_ffn_down.bin"
says unknown overall '3 grafts'
undo

# An organ file tells only that it is one; each such donor has one line for all its organs.
mkdir "$TMP/organs"
cp "$other"/organs/blk_[01]_*.bin "$TMP/organs/"
cp "$TMP"/organs/*.bin "$MNT/organs/"
has_form
says ok donor 'organ files: 6 grafts: blk 0-1 ffn_'
says unknown rope 'organ file'
rm -r "$TMP/organs"
undo

# The donor is unrelated and has other shapes.
cp "$stranger/organs/blk_0_ffn_up.bin" "$MNT/organs/"
has_form
says impossible overall '1 impossible|2 impossible|3 impossible'
says impossible shape '64x172, the slot 256x512'
says impossible dimensions 'embedding_length 64 .*256'
says risky tokenizer 'another vocabulary'
undo

# Each of two donors has its lines.
cp "$other"/organs/blk_0_ffn_*.bin "$MNT/organs/"
cp "$stranger/organs/blk_1_ffn_up.bin" "$MNT/organs/"
equal "$(verdict shape clerk-Q4_K_M)" ok
equal "$(verdict shape stories260K)" impossible
has_form
undo

# The model itself is the donor: blocks are doubled, and one has a gap.
for part in gate up down; do
	ln -f "$MNT/organs/blk_0_ffn_$part.bin" "$MNT/organs/blk_5_ffn_$part.bin"
done
has_form
says risky distance 'block 0 into block 5'
says ok donor 'this model: 3 grafts: blk 5 ffn_'
says ok norms 'blk 5'
equal "$(verdict rope)" ''
undo
rm "$MNT/organs/blk_3_ffn_up.bin"
says impossible complete 'blk 3 ffn_up'
rm "$MNT"/*/blk_3_*.bin
says ok complete 'no block'
says impossible blocks 'missing: 3'
rm "$MNT"/*/blk_[45]_*.bin
says ok blocks '3 from 0'
has_form
undo

# The edited metadata counts, not the base's.
cp "$other"/skeleton/blk_2_attn_*.bin "$MNT/skeleton/"
says ok rope 'freq_base 10000, scaling none'
key=$MNT/metadata/llama.rope.freq_base
unedited=$(cat "$key")
echo 1000000 >"$key"
has_form
says impossible rope 'freq_base 10000 .*1000000'
says impossible overall '1 key edited'
echo "$unedited" >"$key"
echo 7 >"$MNT/metadata/llama.block_count"
has_form
says impossible blocks '6 from 0.* 7'
cp "$MNT/.base/metadata/llama.block_count" "$MNT/metadata/"
says ok blocks '6 from 0'
undo

# The donor is removed, or has changed.
cp "$other/organs/blk_0_ffn_up.bin" "$MNT/organs/"
unmount_and_wait "$other"
says ok architecture llama
printf 'x' | dd of="$donor" bs=1 seek=100000 conv=notrunc status=none
cp "$MNT/organs/blk_0_ffn_up.bin" "$MNT/organs/blk_1_ffn_up.bin" # another state of the donor
says unknown architecture 'another file'
rm "$donor"
cp "$MNT/organs/blk_0_ffn_up.bin" "$MNT/organs/blk_2_ffn_up.bin"
says unknown lineage 'No such file'
has_form
! cp "$check" "$MNT/organs/blk_4_ffn_up.bin" 2>/dev/null || fail 'a check is no organ'
# A write to .check is ignored.
cp "$check" "$TMP/check.before"
echo x >"$check"
same "$check" "$TMP/check.before"
unmount_and_wait
unmount_and_wait "$stranger"

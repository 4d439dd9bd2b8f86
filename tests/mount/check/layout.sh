#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Tensors with fewer bytes than their types need are shown as they are, and neither measured nor
# grafted from or onto; while one remains nothing is assembled.
. "${0%/*}/../lib.sh"

need getfattr
layouts=$here/../tools/layouts.py

# Make a whole organ of that type id, with that many bytes in each of 64 rows.
whole_organ() {
	python3 - "$1" "$2" >"$TMP/whole.bin" <<-'END'
		import struct, sys
		name = b"blk.0.ffn_up.weight"
		sys.stdout.buffer.write(struct.pack("<I", len(name)) + name +
		                        struct.pack("<IQQI", 2, 256, 64, int(sys.argv[1])) +
		                        bytes(64 * int(sys.argv[2])))
	END
}

refused() {
	expect_fail 'invalid argument' "$@"
	log_says "$slots: "
}

# refuses KIND TYPE ID BYTES: check it, with BYTES in a row of a whole organ.
refuses() {
	local kind=$1 type=$2 organs=$MNT/$1/organs slots='organs/blk_[01]_ffn_(gate|up|down).bin' n
	mkdir "$TMP/$kind"
	"$layouts" "$kind" "$TMP/$kind/$kind.gguf"
	"$layouts" "$kind" "$TMP/$kind/other.gguf" other
	mount_model -o noassemble "$TMP/$kind"
	grep -q "^impossible	layout	blk 0-1 ffn_\*: .*$type .*another layout" \
		"$MNT/$kind/.check" || fail "$(cat "$MNT/$kind/.check")"
	grep -q "$kind: 6 tensors are short, organs/blk_0_ffn_gate.bin" "$MNT/$kind/.log" ||
		fail "$(cat "$MNT/$kind/.log")"
	equal "$(cut -f 10 "$organs/.theta" | sort | uniq -c | xargs)" '6 short 1 status'
	equal "$(cat "$organs/blk_0_ffn_up.theta")" '  nan'
	equal "$(grep -c 'status short' "$MNT/$kind/theta.svg")" 6 'cells of the picture'
	absent "$MNT/$kind/.views/npy/organs/blk_0_ffn_up.npy"
	same "$MNT/$kind/model.gguf" "$TMP/$kind/$kind.gguf"

	# Grafts from such a tensor to another, and the reverse, fail in each way.
	cat "$organs/blk_0_ffn_up.bin" >"$TMP/short.bin"
	refused cp "$TMP/short.bin" "$organs/blk_0_ffn_gate.bin"
	refused cp "$organs/blk_0_ffn_up.bin" "$organs/blk_0_ffn_gate.bin"
	refused cp "$MNT/other/organs/blk_0_ffn_up.bin" "$organs/"
	expect_fail '' ln "$organs/blk_0_ffn_up.bin" "$organs/blk_2_ffn_up.bin"
	expect_fail '' ln -sf "$MNT/other/organs/blk_1_ffn_up.bin" "$organs/blk_0_ffn_up.bin"
	whole_organ "$3" "$4"
	refused cp "$TMP/whole.bin" "$organs/blk_0_ffn_up.bin"
	refused cp "$TMP/whole.bin" "$organs/blk_1_ffn_down.bin"
	printf '%s\n' 'merge_method: linear' 'parameters: {weight: 1}' \
		'models:' "- model: $kind" '- model: other' >"$TMP/merge.yml"
	expect_fail 'invalid argument' cp "$TMP/merge.yml" "$MNT/$kind/.merge"
	log_says 'Q2_0|IQ4_KS'
	"$ORGANFS" --diff=tsv "$TMP/$kind/$kind.gguf" "$TMP/$kind/other.gguf" >"$TMP/diff"
	equal "$(cut -f 13 "$TMP/diff" | grep -cx short)" 6 'tensors that are not compared'
	equal "$(grep -c '	short *$' "$MNT/$kind/.diff/other.lora-1.tsv")" 6 \
		'tensors without a pair'
	equal "$(cat "$MNT/$kind/.grafts")" '' 'grafts'
	same "$MNT/$kind/model.gguf" "$TMP/$kind/$kind.gguf"

	# An assembly works only without them.
	assemble() {
		bash -c 'echo "$1" >"$2"' - "$TMP/out.gguf" "$MNT/$kind/.assemble"
	}
	expect_fail 'invalid argument' assemble
	for n in 0 1; do
		rm "$organs/blk_${n}_ffn_gate.bin" "$organs/blk_${n}_ffn_up.bin"
		expect_fail 'invalid argument' assemble
		absent "$TMP/out.gguf"
		expect_fail 'invalid argument' cat "$MNT/$kind/model.gguf"
		rm "$organs/blk_${n}_ffn_down.bin"
	done
	assemble
	equal "$("$GGUF" organs "$TMP/out.gguf" | wc -l)" 3 'tensors that are left'
	unmount_and_wait
	rm "$TMP/out.gguf"
}
refuses prism Q2_0 42 72
refuses ik IQ4_KS 144 140

# Each tensor has the same multiple of its type's bytes.
"$layouts" wide "$TMP/wide.gguf"
mount_model -o noassemble "$TMP/wide.gguf"
grep -q '^risky	layout	6 tensors of Q1_0 have 2 times' "$MNT/.check" || fail "$(cat "$MNT/.check")"
unmount_and_wait

# A truncated last tensor, if no other one is short, means an incomplete file.
"$layouts" forks "$TMP/cut.gguf"
truncate -s -1 "$TMP/cut.gguf"
expect_refusal "$TMP/cut.gguf"

# Two tensors at one offset have the bytes that they need, and are said to share these.
mount_model -o noassemble "$MALFORMED/off-overlap.gguf"
grep -q '^risky	layout	blk 0 ffn_up: lies in the bytes of another tensor, as 1' "$MNT/.check" ||
	fail "$(cat "$MNT/.check")"
unmount_and_wait

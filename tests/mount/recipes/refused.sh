#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# A recipe that does not fit the mount is refused with line and column, and the mount stays as it
# is: hostile YAML, another base, missing tensors and slots, wrong values, changed donors.
# timeout: 300
. "${0%/*}/../lib.sh"

cp "$(use stories260K)" "$TMP/base.gguf"
mkdir "$TMP/donors" "$TMP/donor" "$TMP/kept"
mv "$(use stories260K-donor)" "$TMP/donors/donor.gguf"
mount_model -o ro "$TMP/donors/donor.gguf" "$TMP/donor"
mount_model -o noassemble,donors="$TMP/donors" "$TMP/base.gguf"
cp "$TMP/donor/organs/blk_1_ffn_up.bin" "$MNT/organs/"
echo name >"$MNT/metadata/general.name"
cp "$MNT/.recipe" "$TMP/good.yml"
cp "$MNT/model.gguf" "$TMP/good.gguf"
echo all >"$MNT/.undo"
sed '/^donors/,$d' "$TMP/good.yml" >"$TMP/begin"

unchanged() {
	equal "$(cat "$MNT/.grafts")" '' "$1"
}

# refused TEXT WORDS: the recipe fails with these words.
refused() {
	printf "$1" >"$TMP/text"
	if cat "$TMP/begin" "$TMP/text" 2>/dev/null | dd of="$MNT/.recipe" bs=1M iflag=fullblock \
		status=none 2>"$TMP/.said"; then
		fail "it was taken: $1"
	fi
	grep -q 'Invalid argument' "$TMP/.said" || fail "$1: $(cat "$TMP/.said")"
	tail -n 1 "$MNT/.log" | grep -q -- "$2" || fail "$1: $(tail -n 1 "$MNT/.log")"
	unchanged "$1"
}

up='grafts:\n- {slot: organs/blk_1_ffn_up'
refused 'x: y\n' 'line 7, column 1: "x" is not a known key'
refused 'grafts: &a [*a]\n' 'line 7, column 9: a recipe has no anchors'
refused 'grafts:\n- slot: organs/blk_1_ffn_up\n  how: removed\n  how: removed\n' 'occurs twice'
refused 'grafts:\n- {slot: organs/nothing, how: removed}\n' 'there is no slot organs/nothing'
refused 'grafts:\n- {slot: organs/../x, how: removed}\n' 'name of no slot'
refused 'grafts:\n- {slot: organs/.x, how: removed}\n' 'name of no slot'
refused 'grafts:\n- {slot: nowhere/x, how: removed}\n' 'name of no slot'
refused 'grafts:\n- {slot: organs/blk_1_ffn_up, how: reference, donor: base, from: blk.9.x}\n' \
	'the donor base has no tensor blk.9.x'
refused "$up, how: reference, donor: base, from: output_norm.weight}\n" \
	'organs/blk_1_ffn_up: the organ.s shape'
refused 'metadata:\n- {key: general.alignment, value: "1"}\n' 'cannot be changed'
refused 'metadata:\n- {key: llama.block_count, type: uint32, value: many}\n' 'llama.block_count'
refused 'metadata:\n- {key: a.b, type: thing, value: x}\n' '"thing" is not a type of metadata'
refused 'options: {merged: keep}\nadapters:\n- {file: x, value: "1"}\n' 'adapters/x is neither'
refused 'options: {blocks: keep}\ngrafts:\n- {slot: organs/blk_1_ffn_up, how: removed}\n' \
	'a mount with -o blocks=keep'
# An error during the replay rolls back the steps before it.
refused "$up, how: removed}\noptions: {merged: keep}\nadapters:\n- {file: x.scale, value: nan}\n" \
	'.recipe: refused'
same "$MNT/model.gguf" "$TMP/base.gguf"

# Some prefixes are shorter recipes; none does harm.
for n in $(seq 0 7 "$(stat -c %s "$TMP/good.yml")"); do
	head -c "$n" "$TMP/good.yml" >"$TMP/cut"
	if dd if="$TMP/cut" of="$MNT/.recipe" bs=1M status=none 2>/dev/null; then
		echo all >"$MNT/.undo"
	fi
	unchanged "the first $n bytes"
done

# The base is another one.
sed '/^base/,/fingerprint/s/fingerprint: .*/fingerprint: 00000000000000000000000000000000/' \
	"$TMP/good.yml" >"$TMP/other.yml"
expect_fail "Invalid argument" cp "$TMP/other.yml" "$MNT/.recipe"
log_says 'another base, base.gguf'

# The donor has a change that only the copy's hash detects.
cp "$TMP/donors/donor.gguf" "$TMP/kept/kept.gguf"
offset=$(getfattr --absolute-names --only-values -n user.organfs.extent \
	"$TMP/donor/organs/blk_1_ffn_up.bin" | cut -d : -f 2)
unmount_and_wait "$TMP/donor"
printf 'changed' | dd of="$TMP/donors/donor.gguf" bs=1 seek=$((offset + 9000)) conv=notrunc \
	status=none
expect_fail "Invalid argument" cp "$TMP/good.yml" "$MNT/.recipe"
log_says 'missing: .*organs/blk_1_ffn_up, an organ file of '
unchanged 'a donor that was changed'

# A donor under another name is found, and a truncated one is none.
cp "$TMP/kept/kept.gguf" "$TMP/donors/donor.gguf"
truncate -s -100 "$TMP/donors/donor.gguf"
expect_fail "Invalid argument" cp "$TMP/good.yml" "$MNT/.recipe"
log_says 'missing: donor.gguf'
mv "$TMP/kept/kept.gguf" "$TMP/donors/x"
cp "$TMP/good.yml" "$MNT/.recipe" || fail "$(cat "$MNT/.log")"
same "$MNT/model.gguf" "$TMP/good.gguf"
unmount_and_wait "$MNT"

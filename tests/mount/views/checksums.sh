#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# checksums.xxh128 has a line for every organ in force, which xxhsum verifies, after grafts of any
# kind.
. "${0%/*}/../lib.sh"

need xxhsum getfattr
# every_organ MOUNTPOINT: xxhsum verifies each, and each is listed once.
every_organ() {
	(cd "$1" && xxhsum --strict -c checksums.xxh128) >"$TMP/said" 2>&1 ||
		fail "$(grep -v ': OK$' "$TMP/said")"
	(cd "$1" && xxhsum -H2 -c checksums.xxh128) >"$TMP/said" 2>&1 || fail "$(cat "$TMP/said")"
	! grep -vq ': OK$' "$TMP/said" || fail "$(grep -v ': OK$' "$TMP/said")"
	(cd "$1" && printf '%s\n' */*.bin) | sort >"$TMP/organs"
	cut -c 35- "$1/checksums.xxh128" | sort | diff - "$TMP/organs" || fail 'not these organs'
	equal "$(stat -c %s "$1/checksums.xxh128")" "$(cat "$1/checksums.xxh128" | wc -c)" size
	local line
	while read -r line; do
		equal "$line" "$(sum_of "${line#*  }" "$1")  ${line#*  }" attribute
	done < <(sed -n '1p;$p' "$1/checksums.xxh128")
}
sum_of() {
	getfattr --only-values -n user.organfs.xxh128 "${2:-$MNT}/$1"
}
line_of() {
	grep "  $1\$" "${2:-$MNT}/checksums.xxh128" | cut -c 1-32
}

base=$(use scribe-Q4_K_M)
mount_model -o ro "$base"
every_organ "$MNT"
# The hash equals an independent program's of the organ file; lines have the order of the classes
# and their tables.
"$GGUF" organ "$base" blk.2.ffn_up.weight "$TMP/organ.bin"
before=$(line_of organs/blk_2_ffn_up.bin)
equal "$before" "$(xxhsum -H2 "$TMP/organ.bin" | cut -d ' ' -f 1)"
for class in skeleton organs embed norm; do
	tail -n +2 "$MNT/$class/.theta" | cut -f 1
done >"$TMP/order"
cut -c 35- "$MNT/checksums.xxh128" | diff - "$TMP/order" || fail 'the order is another'
same <(dd if="$MNT/checksums.xxh128" bs=7 status=none) "$MNT/checksums.xxh128"
expect_fail 'Read-only' tee "$MNT/checksums.xxh128" </dev/null
unmount_and_wait

# Grafts: a copy, a compressed one, links of both kinds, a move, a new slot, an empty one.
donor=$(use clerk-Q4_K_M)
mkdir "$TMP/donor"
mount_model -o ro "$donor" "$TMP/donor"
mount_model -o noassemble,layer="$TMP/layer" "$base"
cp "$TMP/donor"/organs/blk_[01]_ffn_*.bin "$MNT/organs/"
# A tensor of zeros compresses.
zeros=$(getfattr --only-values -n user.organfs.extent "$MNT/organs/blk_2_ffn_up.bin")
zeros=${zeros##*:}
head -c "-$zeros" "$TMP/organ.bin" >"$TMP/zeros.bin"
head -c "$zeros" /dev/zero >>"$TMP/zeros.bin"
cp "$TMP/zeros.bin" "$MNT/organs/blk_2_ffn_up.bin"
equal "$(layer_sql "$TMP/layer" "SELECT form FROM slot JOIN blob ON blob = number
	WHERE class = 'organs' AND name = 'blk_2_ffn_up'")" zstd
ln -f "$MNT/organs/blk_4_ffn_up.bin" "$MNT/organs/blk_3_ffn_up.bin"
cp "$TMP/organ.bin" "$TMP/linked.bin"
ln -sf "$TMP/linked.bin" "$MNT/organs/blk_4_ffn_gate.bin"
ln -sf "$TMP/donor/organs/blk_5_ffn_up.bin" "$MNT/organs/blk_5_ffn_up.bin"
ln -sf ../.base/organs/blk_1_ffn_down.bin "$MNT/organs/blk_3_ffn_down.bin"
ln -sf blk_1_ffn_down.bin "$MNT/organs/blk_2_ffn_down.bin"
mv "$MNT/skeleton/blk_5_attn_q.bin" "$MNT/skeleton/blk_4_attn_q.bin"
cp "$MNT/norm/blk_5_attn_norm.bin" "$MNT/norm/blk_6_attn_norm.bin"
rm "$MNT/norm/blk_0_ffn_norm.bin"
every_organ "$MNT"
equal "$(line_of organs/blk_2_ffn_up.bin)" "$(xxhsum -H2 "$TMP/zeros.bin" | cut -d ' ' -f 1)"
equal "$(line_of organs/blk_4_ffn_gate.bin)" "$before"
equal "$(line_of organs/blk_5_ffn_up.bin)" "$(line_of organs/blk_5_ffn_up.bin "$TMP/donor")"
equal "$(sum_of .base/organs/blk_2_ffn_up.bin)" "$before" 'of the base'
! grep -q blk_0_ffn_norm "$MNT/checksums.xxh128" || fail 'a removed organ is listed'
# The target of a link becomes another organ.
cp "$TMP/zeros.bin" "$TMP/linked.new"
mv "$TMP/linked.new" "$TMP/linked.bin"
every_organ "$MNT"
equal "$(line_of organs/blk_4_ffn_gate.bin)" "$(line_of organs/blk_2_ffn_up.bin)"
unmount_and_wait

# A later mount has the same hashes, although it trusts no copy before a whole read.
mount_model -o ro,layer="$TMP/layer" "$base"
every_organ "$MNT"
unmount_and_wait
file=$(layer_file "$TMP/layer" organs/blk_1_ffn_up)
printf x | dd of="$file" bs=1 seek=5000 conv=notrunc status=none
mount_model -o ro,layer="$TMP/layer" "$base"
expect_fail 'Input/output error' cat "$MNT/checksums.xxh128"
expect_fail 'Input/output error' sum_of organs/blk_1_ffn_up.bin
equal "$(head -c 34 "$MNT/checksums.xxh128" | cut -c 1-32)" \
	"$(xxhsum -H2 "$MNT/skeleton/blk_0_attn_k.bin" | cut -d ' ' -f 1)"
unmount_and_wait
unmount_and_wait "$TMP/donor"

# Each of several models has its own file, with the organs from others.
mount_model -o noassemble,layer="$TMP/layers" "$MODELS"
cp "$MNT"/clerk-Q4_K_M/organs/blk_2_ffn_*.bin "$MNT/scribe-Q4_K_M/organs/"
for model in "$MNT"/*/; do
	every_organ "$model"
done
absent "$MNT/checksums.xxh128"
unmount_and_wait

# Tensors may have any name.
"$GGUF" hostile "$TMP/hostile"
for file in "$TMP"/hostile/*.gguf; do
	"$ORGANFS" -o ro "$file" "$MNT" 2>"$TMP/refused" || continue
	DAEMON[$MNT]=$(daemon_of "$MNT")
	if [ -s "$MNT/checksums.xxh128" ]; then
		(cd "$MNT" && xxhsum --strict -c checksums.xxh128) >"$TMP/said" 2>&1 ||
			fail "$file: $(grep -v ': OK$' "$TMP/said")"
	fi
	equal "$(wc -l <"$MNT/checksums.xxh128")" "$(find "$MNT" -name '*.bin' | wc -l)" "$file"
	unmount_and_wait
done

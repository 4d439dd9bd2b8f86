#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The name of an added slot decides its role, for any later content: the next mount has the
# content that close() confirmed.
. "${0%/*}/../lib.sh"

base=$(use stories260K)
donor=$(use stories260K-donor)
layer=$TMP/layer
OPTIONS=layer=$layer,shape=any

remount() {
	unmount_and_wait
	mount_model -o "$OPTIONS" "$base"
	! grep -q 'left alone' "$MNT/.log" || fail "$(grep 'left alone' "$MNT/.log")"
}

organs=$MNT/organs
mount_model -o "$OPTIONS" "$base"
# Grafts are made by copy, compressed and plain, by link, by symbolic link, and by reference to the
# base.
for block in 5 6 7 8 9; do
	cp "$organs/blk_4_ffn_up.bin" "$organs/blk_${block}_ffn_up.bin"
done
mkdir "$TMP/other"
mount_model -o ro "$donor" "$TMP/other"
gate=$TMP/other/organs/blk_1_ffn_gate.bin
cat "$gate" >"$organs/blk_5_ffn_up.bin"
ln -f "$organs/blk_5_ffn_up.bin" "$organs/blk_6_ffn_up.bin"
cp "$gate" "$TMP/gate.bin"
ln -sf "$TMP/gate.bin" "$organs/blk_7_ffn_up.bin"
cp "$organs/blk_2_ffn_gate.bin" "$organs/blk_8_ffn_up.bin"
cp "$organs/blk_3_ffn_down.bin" "$organs/blk_1_ffn_gate.bin"
mv "$organs/blk_1_ffn_gate.bin" "$organs/blk_9_ffn_up.bin"
(cd "$MNT" && sha256sum organs/blk_[5-9]_ffn_up.bin) >"$TMP/sums"
cut -f 1,2 "$MNT/.grafts" | sort >"$TMP/grafts"

for round in 1 2; do
	remount
	(cd "$MNT" && sha256sum --quiet -c "$TMP/sums") || fail "round $round: other organs"
	cut -f 1,2 "$MNT/.grafts" | sort | diff "$TMP/grafts" - || fail "round $round: other grafts"
	# A symbolic link has no attributes of its own.
	for block in 5 6 8 9; do
		equal "$(getfattr --absolute-names --only-values -n user.organfs.tensor \
			"$organs/blk_${block}_ffn_up.bin")" "blk.$block.ffn_up.weight" 'the tensor'
	done
done

# If the row lacks the tensor's name, the slot's name gives it; the next graft writes it anew.
unmount_and_wait
layer_change "$layer" 'UPDATE slot SET tensor = NULL'
mount_model -o "$OPTIONS" "$base"
(cd "$MNT" && sha256sum --quiet -c "$TMP/sums") || fail 'other organs without the names of tensors'
# An impossible name for that slot is ignored.
unmount_and_wait
tensor() {
	layer_change "$layer" "UPDATE slot SET tensor = $2 WHERE name = 'blk_$1_ffn_up'"
}
tensor 5 "X''"
tensor 6 "CAST('blk.6.ffn_up.weight' || char(0) AS BLOB)"
tensor 7 "CAST('blk.0.ffn_up.weight' AS BLOB)"
tensor 8 'zeroblob(100000)'
mount_model -o "$OPTIONS" "$base"
(cd "$MNT" && sha256sum --quiet -c "$TMP/sums") || fail 'other organs with odd names of tensors'
rm "$organs/blk_5_ffn_up.bin"
remount
absent "$organs/blk_5_ffn_up.bin"
equal "$(layer_sql "$layer" "SELECT count(*) FROM slot WHERE name = 'blk_5_ffn_up'")" 0 'rows of it'
unmount_and_wait
unmount_and_wait "$TMP/other"

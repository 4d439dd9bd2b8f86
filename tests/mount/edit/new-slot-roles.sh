#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# A slot that was added is the one that its name says, whatever is put into it later: the next mount
# has in it what close() confirmed.
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
# By copy, compressed and as it is, by link, by symbolic link, and by reference to the base.
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

# Without what is kept beside them, their place says it; it is made anew by the next graft.
unmount_and_wait
rm "$layer/organs/"*.from
mount_model -o "$OPTIONS" "$base"
(cd "$MNT" && sha256sum --quiet -c "$TMP/sums") || fail 'other organs without .from'
# What is not such a file is not believed.
unmount_and_wait
mkfifo "$layer/organs/blk_5_ffn_up.bin.from"
ln -s "$TMP/gate.bin" "$layer/organs/blk_6_ffn_up.bin.from"
printf 'organfs origin 1\nslot blk.0.ffn_up.weight\n' >"$layer/organs/blk_7_ffn_up.bin.from"
head -c 100000 /dev/zero >"$layer/organs/blk_8_ffn_up.bin.from"
mount_model -o "$OPTIONS" "$base"
(cd "$MNT" && sha256sum --quiet -c "$TMP/sums") || fail 'other organs beside files that are none'
rm "$organs/blk_5_ffn_up.bin"
remount
absent "$organs/blk_5_ffn_up.bin"
absent "$layer/organs/blk_5_ffn_up.bin.from"
unmount_and_wait
unmount_and_wait "$TMP/other"

#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# .check knows after a remount, and after a crash, what it knew before: where each graft came from
# is kept in the layer. What a layer tells is not believed where the file is another now.
. "${0%/*}/../lib.sh"
. "${0%/*}/lib.sh"

base=$(use scribe-Q4_K_M)
donor=$(use clerk-Q4_K_M)
other=$MNT.donor
mkdir "$other"
layer=$TMP/layer
OPTIONS=layer=$layer
mount_model -o "$OPTIONS" "$base"
mount_model -o ro "$donor" "$other"
organs=$MNT/organs

remount() {
	unmount_and_wait
	mount_model -o "$OPTIONS" "$base"
}
# The same lines, whatever they are padded with.
noted() {
	sed 's/ *$//' "$MNT/.check" >"$TMP/$1.check"
	cut -f 1,2,8,9 "$MNT/.grafts" >"$TMP/$1.grafts"
}
unchanged() {
	noted after
	diff "$TMP/before.check" "$TMP/after.check" || fail "$1: another .check"
	diff "$TMP/before.grafts" "$TMP/after.grafts" || fail "$1: other .grafts"
}

# Copies of a donor's organs, of an organ file, of views of one's own; references, to be moved;
# an addition; one that is shared and moved.
cp "$other"/organs/blk_1_ffn_*.bin "$organs/"
cp "$MNT/.views/spectral/organs/blk_2_ffn_up.bin" "$organs/"
cp "$MNT/.views/fractal/organs/blk_2_ffn_gate.bin" "$organs/"
cp "$other/organs/blk_3_ffn_up.bin" "$TMP/up.bin"
cp "$TMP/up.bin" "$organs/blk_3_ffn_up.bin"
cp "$organs/blk_0_ffn_up.bin" "$organs/blk_4_ffn_up.bin"
cp "$other/embed/token_embd.bin" "$MNT/embed/"
cp "$organs/blk_1_ffn_up.bin" "$organs/blk_5_ffn_up.bin"
cp "$other/organs/blk_4_ffn_up.bin" "$organs/blk_6_ffn_up.bin"
cp "$other/organs/blk_0_ffn_down.bin" "$organs/blk_0_ffn_down.bin"
mv "$organs/blk_0_ffn_down.bin" "$organs/blk_4_ffn_down.bin"
says ok donor 'clerk-Q4_K_M: 7 grafts: .*; from /.*/clerk-Q4_K_M.gguf' clerk-Q4_K_M
equal "$(verdict donor 'this model')" ok
grep -q '	this model: 3 grafts.*by .views/' "$MNT/.check" || fail "$(cat "$MNT/.check")"
equal "$(verdict donor 'organ files')" ok
equal "$(verdict bytes clerk-Q4_K_M)" ok
noted before
remount
unchanged 'a remount'
remount
unchanged 'another remount'
kill_daemon
mount_model -o "$OPTIONS" "$base"
unchanged 'a crash'
# The donor's mount need not be there, its file need.
unmount_and_wait "$other"
remount
unchanged 'no mount of the donor'

# A shared copy has it from the one it is shared with; what is replaced has it no more.
cp "$organs/blk_1_ffn_gate.bin" "$organs/blk_0_ffn_gate.bin"
grep -q '^donor ' "$layer/organs/blk_0_ffn_gate.bin.from" || fail 'a share without its origin'
cat "$MNT/.base/organs/blk_3_ffn_up.bin" | dd of="$organs/blk_0_ffn_gate.bin" status=none
absent "$layer/organs/blk_0_ffn_gate.bin.from"
cp "$MNT/.base/organs/blk_0_ffn_gate.bin" "$organs/"

# Another file under the donor's name, or none, is unknown, not ok.
unmount_and_wait
cp "$donor" "$TMP/kept"
cp "$base" "$donor"
mount_model -o "$OPTIONS" "$base"
says unknown architecture 'clerk-Q4_K_M: .*another file has that name now' clerk-Q4_K_M
unmount_and_wait
rm "$donor"
mount_model -o "$OPTIONS" "$base"
says unknown rope 'clerk-Q4_K_M: .*No such file' clerk-Q4_K_M
unmount_and_wait
mv "$TMP/kept" "$donor"

# Hostile or old neighbours: nothing is believed, no graft is lost.
from=$layer/organs/blk_1_ffn_up.bin.from
cp "$from" "$TMP/from"
hash() {
	cut -d ' ' -f 1 "$layer/organs/blk_1_ffn_up.bin"*.xxh128
}
broken() {
	mount_model -o "$OPTIONS" "$base"
	cut -f 1 "$MNT/.grafts" | diff <(cut -f 1 "$TMP/before.grafts") - || fail "$1"
	grep '^organs/blk_1_ffn_up.bin	' "$MNT/.grafts" | grep -q '	-	-$' ||
		fail "$1 is believed"
	says unknown donor 'copies: 1 graft: blk 1 ffn_up' copies
	unmount_and_wait
}
rm "$from"
broken 'none'
sed 's/^organ .*/organ 00000000000000000000000000000000/' "$TMP/from" >"$from"
broken 'one of another organ'
grep -v '^organ' "$TMP/from" >"$from"
broken 'one of no organ'
sed 's|^donor .*|donor models/clerk-Q4_K_M.gguf|' "$TMP/from" >"$from"
broken 'a relative path'
sed 's|^donor .*|&%00|' "$TMP/from" >"$from"
broken 'a path with a NUL'
sed 's/^fingerprint .*/fingerprint x/' "$TMP/from" >"$from"
broken 'no fingerprint'
{ cat "$TMP/from" && grep '^tensor' "$TMP/from"; } >"$from"
broken 'a key twice'
printf 'organfs origin 1\norgan %s\ndonor /dev/zero' "$(hash)" >"$from"
broken 'a torn line'
{ cat "$TMP/from" && echo view nothing; } >"$from"
broken 'a view that is not there'
head -c 4000 /dev/zero >"$from"
broken 'zeros'
# Lines with other keys are passed over; in any order.
{ head -n 1 "$TMP/from" && echo 'later words' && sed 1d "$TMP/from" | tac; } >"$from"
mount_model -o "$OPTIONS" "$base"
sed 's/ *$//' "$MNT/.check" | diff "$TMP/before.check" - || fail 'another order'
# In the mount itself nothing is looked up.
unmount_and_wait
sed "s|^donor .*|donor $MNT/.check|" "$TMP/from" >"$from"
mount_model -o "$OPTIONS" "$base"
equal "$(verdict architecture donor)$(verdict architecture .check)" unknown
grep -q 'into this mount' "$MNT/.check" || fail "$(cat "$MNT/.check")"
unmount_and_wait

# What is linked and what was copied of one file is of one donor, also after a remount.
layer=$TMP/linked
OPTIONS=layer=$layer
mount_model -o ro "$donor" "$other"
mount_model -o "$OPTIONS" "$base"
cp "$other"/organs/blk_1_ffn_{up,down}.bin "$organs/"
ln -sf "$other/organs/blk_1_ffn_gate.bin" "$organs/"
says ok donor 'clerk-Q4_K_M: 3 grafts: blk 1 ffn_\*' clerk-Q4_K_M
equal "$(verdict unit clerk-Q4_K_M)" ok
noted before
remount
unchanged 'a link and copies'
unmount_and_wait
unmount_and_wait "$other"

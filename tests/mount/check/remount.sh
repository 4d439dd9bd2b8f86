#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# .check gives the same verdicts after a remount and a crash: the layer keeps each graft's donor.
# If the donor file has changed since, the layer's record does not count.
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
# The lines are the same, apart from padding.
noted() {
	sed 's/ *$//' "$MNT/.check" >"$TMP/$1.check"
	cut -f 1,2,8,9 "$MNT/.grafts" >"$TMP/$1.grafts"
}
unchanged() {
	noted after
	diff "$TMP/before.check" "$TMP/after.check" || fail "$1: another .check"
	diff "$TMP/before.grafts" "$TMP/after.grafts" || fail "$1: other .grafts"
}

# The grafts are copies of a donor's organs, of an organ file and of own views; references, later
# moved; an addition; a shared organ, moved.
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
# The donor's mount may be gone, but its file has to exist.
unmount_and_wait "$other"
remount
unchanged 'no mount of the donor'

# A shared copy has the donor of its source; a replaced slot has no donor.
cp "$organs/blk_1_ffn_gate.bin" "$organs/blk_0_ffn_gate.bin"
donor_of_gate() {
	layer_sql "$layer" "SELECT donor FROM slot WHERE name = 'blk_0_ffn_gate'"
}
equal "$(donor_of_gate)" "$donor" 'the donor of a share'
cat "$MNT/.base/organs/blk_3_ffn_up.bin" | dd of="$organs/blk_0_ffn_gate.bin" status=none
equal "$(donor_of_gate)" '' 'the donor of the replaced slot'
cp "$MNT/.base/organs/blk_0_ffn_gate.bin" "$organs/"

# Another file or no file under the donor's name gives unknown, not ok.
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

# Hostile values have no effect, and no graft is lost.
cp "$layer/layer.db" "$TMP/whole.db"
# sets VALUES: change the row of a copied organ, against the schema's constraints.
sets() {
	cp "$TMP/whole.db" "$layer/layer.db"
	layer_change "$layer" "PRAGMA ignore_check_constraints = ON;
		UPDATE slot SET $1 WHERE class = 'organs' AND name = 'blk_1_ffn_up'"
}
broken() {
	sets "$2"
	mount_model -o "$OPTIONS" "$base"
	cut -f 1 "$MNT/.grafts" | diff <(cut -f 1 "$TMP/before.grafts") - || fail "$1"
	grep '^organs/blk_1_ffn_up.bin	' "$MNT/.grafts" | grep -q '	-	-$' ||
		fail "$1 is believed"
	says unknown donor 'copies: 1 graft: blk 1 ffn_up' copies
	unmount_and_wait
}
broken 'none' 'donor = NULL, donor_tensor = NULL, donor_fingerprint = NULL, donor_of = NULL'
broken 'no donor' 'donor = NULL'
broken 'an empty path' "donor = ''"
broken 'a relative path' "donor = 'models/clerk-Q4_K_M.gguf'"
broken 'a path with a NUL' 'donor = donor || char(0)'
broken 'a path that is not UTF-8 and goes on behind a NUL' \
	"donor = CAST(X'2fff00' AS TEXT) || donor"
broken 'a fingerprint of another form' "donor_fingerprint = 'x'"
broken 'no fingerprint' 'donor_fingerprint = NULL'
broken 'no tensor' 'donor_tensor = NULL'
broken 'an empty tensor' "donor_tensor = X''"
broken 'a tensor longer than any' 'donor_tensor = zeroblob(70000)'
broken 'a view that is not there' "donor_view = 'nothing'"
# A word outside of the schema means a damaged database.
sets "donor_of = 'nobody'"
status=0
"$ORGANFS" -o "$OPTIONS" "$base" "$MNT" >"$TMP/said" 2>&1 </dev/null || status=$?
equal "$status $(wc -l <"$TMP/said")" '1 1' "a donor of nobody: $(cat "$TMP/said")"
grep -q 'layer.db is damaged: CHECK constraint failed in slot' "$TMP/said" ||
	fail "says: $(cat "$TMP/said")"
# A path into the mount itself is not looked up.
sets "donor = '$MNT/.check'"
mount_model -o "$OPTIONS" "$base"
equal "$(verdict architecture donor)$(verdict architecture .check)" unknown
grep -q 'into this mount' "$MNT/.check" || fail "$(cat "$MNT/.check")"
unmount_and_wait

# Links and copies of one file have the same donor, also after a remount.
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

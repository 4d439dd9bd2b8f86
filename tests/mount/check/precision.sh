#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Parts of the same model at another precision may be mixed; a check that does not apply to a graft
# does not raise doubts.
. "${0%/*}/../lib.sh"
. "${0%/*}/lib.sh"

base=$(use stories260K)
donor=$(use stories260K-q8_0)
other=$MNT.donor
mkdir "$other"
mount_model -o noassemble "$base"
mount_model -o ro "$donor" "$other"
organs=$MNT/organs
undo() {
	cp "$MNT/.base/organs/blk_0_ffn_up.bin" "$MNT/.base/organs/blk_1_ffn_up.bin" "$organs/"
	cp "$MNT"/.base/embed/*.bin "$MNT/embed/"
	cp "$MNT"/.base/norm/*.bin "$MNT/norm/"
	says ok overall 'no graft'
}

# One organ of three passes only in its own place, and not from a relative.
cp "$other/organs/blk_1_ffn_up.bin" "$organs/"
says ok unit 'another precision: cosine (1.000|0.99)'
says ok overall '1 graft, '
cp "$other/organs/blk_1_ffn_up.bin" "$organs/blk_0_ffn_up.bin"
says risky unit 'ffn gate, up and down .* blk 0-1'
undo
# Grafts from an organ file and a pipe pass as far as they tell the donor.
cp "$other/organs/blk_1_ffn_up.bin" "$TMP/"
cp "$TMP/blk_1_ffn_up.bin" "$organs/"
says ok unit 'organ files: .*another precision'
undo
cat "$TMP/blk_1_ffn_up.bin" | cat >"$organs/blk_1_ffn_up.bin"
says ok unit 'copies: .*another precision'
undo

# The embedding alone and one norm have no norms before them.
cp "$other/embed/token_embd.bin" "$MNT/embed/"
says ok norms 'does not apply'
says ok parts 'does not apply'
says ok overall '1 graft, '
undo
cp "$other/norm/blk_1_ffn_norm.bin" "$TMP/norm.bin"
python3 - "$TMP/norm.bin" <<'END'
import struct, sys
with open(sys.argv[1], "r+b") as f:
    f.seek(-4, 2)
    f.write(struct.pack("<f", 2.5))
END
cp "$TMP/norm.bin" "$MNT/norm/blk_1_ffn_norm.bin"
says ok norms 'does not apply'
undo

# A purified organ is the model's own.
cp "$MNT/.views/spectral/organs/blk_1_ffn_up.bin" "$organs/"
says ok donor 'this model: 1 graft: blk 1 ffn_up; by .views/spectral'
says ok unit 'no attention'
says ok overall '1 graft, '
undo
unmount_and_wait
unmount_and_wait "$other"

# Experts are in another order.
"$GGUF" experts "$MODELS/stories260K.gguf" "$TMP/experts.gguf" 4
mount_model -o noassemble "$TMP/experts.gguf"
for experts in "$MNT"/.views/experts/organs/blk_0_*/; do
	echo 3 1 2 0 >"$experts/order"
done
says ok donor 'this model: 4 grafts: blk 0 ffn_\*; by .views/experts'
says ok overall '4 grafts'
unmount_and_wait
mount_model -o noassemble "$TMP/experts.gguf"
says ok donor 'this model: 4 grafts: blk 0 ffn_\*; by .views/experts'
says ok overall '4 grafts'
unmount_and_wait

#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# An organ's header names its role. In a slot for another role the organ is in force and
# impossible: close() succeeds, .log has one line, and .check has the row `role`.
. "${0%/*}/../lib.sh"
. "${0%/*}/lib.sh"

base=$(use scribe-Q4_K_M)
donor=$(use clerk-Q4_K_M)
other=$MNT.donor
mkdir "$other"
OPTIONS=layer=$TMP/layer
mount_model -o "$OPTIONS" "$base"
mount_model -o ro "$donor" "$other"
organs=$MNT/organs
WRONG='blk_1_ffn_up.bin holds blk.[0-9].ffn_gate.weight'

lines() {
	grep -c 'means another role' "$MNT/.log" || true
}
# wrong COMMAND...: fill blk_1_ffn_up with a gate; it is reported once, and again after a remount.
wrong() {
	local before
	before=$(lines)
	"$@" || fail "$* failed"
	equal "$(lines)" $((before + 1)) "lines in .log after $*"
	log_says 'organs/blk_1_ffn_up.bin: its own name, .*ffn_gate.weight, means another role'
	says impossible role "$WRONG"
	says impossible overall 'impossible'
	unmount_and_wait
	mount_model -o "$OPTIONS" "$base"
	says impossible role "$WRONG"
}
right() {
	cp "$MNT"/.base/organs/blk_[0-2]_*.bin "$organs/"
	equal "$(cat "$MNT/.grafts")" ''
}
link() {
	cp "$other/organs/blk_1_ffn_gate.bin" "$TMP/gate.bin"
	ln -sf "$TMP/gate.bin" "$organs/blk_1_ffn_up.bin"
}

wrong cp "$other/organs/blk_1_ffn_gate.bin" "$organs/blk_1_ffn_up.bin" # a copy
right
wrong cp "$organs/blk_1_ffn_gate.bin" "$organs/blk_1_ffn_up.bin" # a reference
right
wrong ln -f "$organs/blk_2_ffn_gate.bin" "$organs/blk_1_ffn_up.bin"
right
wrong mv "$organs/blk_1_ffn_gate.bin" "$organs/blk_1_ffn_up.bin"
says impossible complete 'blk 1 ffn_gate'
right
wrong link
rm "$organs/blk_1_ffn_up.bin"
right

# The reverse is wrong too; the right role may come from another block.
cp "$other/organs/blk_1_ffn_up.bin" "$organs/blk_1_ffn_gate.bin"
says impossible role 'blk_1_ffn_gate.bin holds blk.1.ffn_up.weight'
right
before=$(lines)
cp "$other/organs/blk_3_ffn_up.bin" "$organs/blk_1_ffn_up.bin"
says ok role 'each'
equal "$(lines)" "$before"
right

# The role of an added slot comes from the layer.
cp "$organs/blk_5_ffn_up.bin" "$organs/blk_6_ffn_up.bin"
says ok role 'each'
cp "$other/organs/blk_5_ffn_gate.bin" "$organs/blk_6_ffn_up.bin"
says impossible role 'blk_6_ffn_up.bin holds blk.5.ffn_gate.weight'
unmount_and_wait
mount_model -o "$OPTIONS" "$base"
says impossible role 'blk_6_ffn_up.bin holds blk.5.ffn_gate.weight'
rm "$organs/blk_6_ffn_up.bin"

# A role that is known to be similar is risky.
cp "$other/embed/token_embd.bin" "$MNT/embed/output.bin"
says risky role 'output.bin holds token_embd.weight'
# The header names an unknown tensor.
python3 - "$other/organs/blk_1_ffn_up.bin" "$TMP/odd.bin" <<'END'
import struct, sys
data = open(sys.argv[1], "rb").read()
n, = struct.unpack_from("<I", data)
open(sys.argv[2], "wb").write(struct.pack("<I", 3) + b"odd" + data[4 + n:])
END
cp "$MNT/.base/embed/output.bin" "$MNT/embed/"
cp "$TMP/odd.bin" "$organs/blk_1_ffn_up.bin"
says unknown role 'organs/blk_1_ffn_up.bin names no part'
unmount_and_wait
unmount_and_wait "$other"

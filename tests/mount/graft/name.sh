#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The file name chooses the slot; the name in the header may differ.
. "${0%/*}/../lib.sh"

base=$(use stories260K)
mount_model "$base"
cp "$MNT/organs/blk_1_ffn_up.bin" "$TMP/organ.bin"
cp "$TMP/organ.bin" "$MNT/organs/blk_3_ffn_up.bin"
# The slot has the copied bytes, header included; an attribute names its tensor.
same "$MNT/organs/blk_3_ffn_up.bin" "$TMP/organ.bin"
equal "$(getfattr --only-values -n user.organfs.tensor "$MNT/organs/blk_3_ffn_up.bin")" \
	blk.3.ffn_up.weight
cp "$MNT/model.gguf" "$TMP/result.gguf"
"$GGUF" organ "$TMP/result.gguf" blk.3.ffn_up.weight "$TMP/a.bin"
differ "$TMP/a.bin" "$TMP/organ.bin" # this header has the slot's name
same <(tail -c +100 "$TMP/a.bin") <(tail -c +100 "$TMP/organ.bin")

# Within one mount the kernel may hand the copy to the filesystem.
cp "$MNT/organs/blk_2_ffn_gate.bin" "$MNT/organs/blk_4_ffn_gate.bin"
cp "$MNT/model.gguf" "$TMP/result.gguf"
"$GGUF" organ "$TMP/result.gguf" blk.4.ffn_gate.weight "$TMP/a.bin"
"$GGUF" organ "$base" blk.2.ffn_gate.weight "$TMP/b.bin"
same <(tail -c 1000 "$TMP/a.bin") <(tail -c 1000 "$TMP/b.bin")
equal "$(sort "$MNT/.grafts" | cut -f 1 | tr '\n' ' ')" \
	'organs/blk_3_ffn_up.bin organs/blk_4_ffn_gate.bin '
unmount_and_wait
same "$TMP/stories260K.grafted.gguf" "$TMP/result.gguf"

#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# A layer of organfs 1.0 has all of its grafts in every later version 1.x: a copy in a row and one
# in a file, a reference, a link, a removal, an added slot, a chosen type, keys, a setting of
# adapters and an order of blocks.
. "${0%/*}/../lib.sh"

need sqlite3
base=$MODELS/stories260K.gguf
layer=$TMP/layer
mkdir -p "$layer/blobs"
# A user other than root may act as the owner of its own links and references alone.
{
	sed "s|MODEL|$base|g" "$here/layer/format-2.sql"
	printf "UPDATE %s SET uid = $(id -u), gid = $(id -g) WHERE uid = 0;" slot adapter merge
} | sqlite3 "$layer/layer.db"
mount_model -o ro "$base"
cp "$MNT/.views/types/f16/embed/token_embd.bin" "$layer/blobs/2"
cp "$MNT/.views/types/f16/norm/blk_1_ffn_norm.bin" "$TMP/norm.bin"
unmount_and_wait

cat >"$TMP/grafts" <<'END'
.merge	merge	passthrough	9
embed/token_embd.bin	copy	F16	64x512
norm/blk_1_ffn_norm.bin	copy	F16	64
norm/blk_2_attn_norm.bin	removed	-	-
organs/blk_2_ffn_down.bin	link	F32	172x64
organs/blk_3_ffn_up.bin	reference	F32	64x172
organs/blk_4_ffn_gate.bin	retyped	Q8_0	64x172
organs/blk_6_ffn_up.bin	reference	F32	64x172
metadata/general.name	edited	string	-
metadata/tokenizer.ggml.seperator_token_id	removed	-	-
metadata/mine.number	added	string	-
END
for option in ro rw; do
	mount_model -o "layer=$layer,$option" "$base"
	cut -f 1-4 "$MNT/.grafts" | diff "$TMP/grafts" - || fail "$option: other grafts"
	same "$MNT/embed/token_embd.bin" "$layer/blobs/2"
	same "$MNT/norm/blk_1_ffn_norm.bin" "$TMP/norm.bin"
	same "$MNT/organs/blk_2_ffn_down.bin" "$MNT/.base/organs/blk_0_ffn_down.bin"
	for slot in blk_3_ffn_up blk_6_ffn_up; do
		same "$MNT/organs/$slot.bin" "$MNT/.base/organs/blk_1_ffn_up.bin"
	done
	equal "$(cat "$MNT/metadata/general.name" "$MNT/metadata/mine.number")" $'chimera\n7'
	equal "$(cat "$MNT/adapters/lora.scale") $(cat "$MNT/blocks/order")" '2 0-4 4'
	! grep 'left alone' "$MNT/.log" || fail "$option: not all of the layer is taken up"
	unmount_and_wait
done

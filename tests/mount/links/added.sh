#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Symbolic links of tensors that the base lacks, among them halves of adapters: the next mount
# finds them, even if their targets are gone by then, and after a kill of the daemon.
. "${0%/*}/../lib.sh"

base=$(use types)
donor=$(use stories260K)
"$LORA" make "$donor" "$TMP/halves.gguf" 'blk.[01].attn_q.weight'
options=noassemble,layer=$TMP/layer
mount_model -o ro "$donor" "$TMP/donor"
mount_model -o ro "$TMP/halves.gguf" "$TMP/halves"

mount_model -o "$options" "$base"
ln -s "$TMP/donor/skeleton/blk_0_attn_k.bin" "$MNT/skeleton/"
cp "$TMP/donor/skeleton/blk_0_attn_v.bin" "$MNT/skeleton/"
# Only the second of two links in a row leads to an organ.
ln -s blk_0_attn_k.bin "$MNT/skeleton/blk_1_attn_k.bin"
stands() {
	same "$MNT/skeleton/blk_0_attn_k.bin" "$TMP/donor/skeleton/blk_0_attn_k.bin"
	equal "$(tail -c 16384 "$MNT/skeleton/blk_1_attn_k.bin" | sha256sum)" \
		"$(tail -c 16384 "$TMP/donor/skeleton/blk_0_attn_k.bin" | sha256sum)" "$1"
	same "$MNT/model.gguf" "$TMP/model.gguf"
	equal "$(cut -f 1,2 "$MNT/.grafts" | sort)" "$(cat "$TMP/grafts")" "$1"
	! grep -q 'left alone' "$MNT/.log" || fail "$1: $(cat "$MNT/.log")"
}
cp "$MNT/model.gguf" "$TMP/model.gguf"
cut -f 1,2 "$MNT/.grafts" | sort >"$TMP/grafts"
equal "$(wc -l <"$TMP/grafts")" 3
stands 'at first'
unmount_and_wait
mount_model -o "$options" "$base"
stands 'after an unmount'
kill_daemon
mount_model -o "$options" "$base"
stands 'after a crash'
unmount_and_wait

# The links are broken without the donor, and whole with it.
unmount_and_wait "$TMP/donor"
mv "$donor" "$donor.away"
mount_model -o "$options" "$base"
equal "$(grep -c 'broken link' "$MNT/.grafts")" 2 "$(cat "$MNT/.grafts")"
unmount_and_wait
mv "$donor.away" "$donor"
mount_model -o ro "$donor" "$TMP/donor"
mount_model -o "$options" "$base"
stands 'after the donor was away'
echo all >"$MNT/.undo"
equal "$(cat "$MNT/.grafts")" ''
unmount_and_wait
empty_layer "$TMP/layer"

# The links are halves of an adapter.
mount_model -o "assemble,layer=$TMP/other" "$donor"
ln -s "$TMP/halves/adapters/"*.bin "$MNT/adapters/"
differ "$MNT/model.gguf" "$donor"
cp "$MNT/model.gguf" "$TMP/model.gguf"
cut -f 1,2 "$MNT/.grafts" | sort >"$TMP/grafts"
kill_daemon
mount_model -o "assemble,layer=$TMP/other" "$donor"
same "$MNT/model.gguf" "$TMP/model.gguf"
equal "$(cut -f 1,2 "$MNT/.grafts" | sort)" "$(cat "$TMP/grafts")"
unmount_and_wait
same "${donor%.gguf}.grafted.gguf" "$TMP/model.gguf"
rm "${donor%.gguf}.grafted.gguf"

# A link without target or with a damaged one prevents the model, like every broken graft.
mount_model -o "noassemble,compress=off,layer=$TMP/third" "$donor"
ln -s "$TMP/halves/adapters/"*blk_0*.bin "$MNT/adapters/"
cp "$TMP/halves/adapters/"*blk_1*.bin "$MNT/adapters/"
same "$MNT/model.gguf" "$TMP/model.gguf"
unmount_and_wait
unmount_and_wait "$TMP/halves"
mv "$TMP/halves.gguf" "$TMP/away.gguf"
no_model() {
	expect_fail 'input/output' cat "$MNT/model.gguf"
	expect_fail 'input/output' bash -c "echo '$TMP/chimera' >'$MNT/.assemble'"
	absent "$TMP/chimera"
}
mount_model -o "noassemble,layer=$TMP/third" "$donor"
equal "$(grep -c 'broken link' "$MNT/.grafts")" 2 "$(cat "$MNT/.grafts")"
no_model
unmount_and_wait
mv "$TMP/away.gguf" "$TMP/halves.gguf"
cp "$TMP/third/layer.db" "$TMP/whole.db"
layer_change "$TMP/third" "UPDATE blob SET size = 20, bytes = substr(bytes, 1, 20) WHERE number =
	(SELECT blob FROM slot WHERE class = 'adapters' AND name GLOB '*blk_1*lora_b')"
mount_model -o "noassemble,layer=$TMP/third" "$donor"
equal "$(grep -c 'broken copy' "$MNT/.grafts")" 1 "$(cat "$MNT/.grafts")"
no_model
unmount_and_wait
cp "$TMP/whole.db" "$TMP/third/layer.db"
mount_model -o "noassemble,layer=$TMP/third" "$donor"
same "$MNT/model.gguf" "$TMP/model.gguf"
unmount_and_wait
unmount_and_wait "$TMP/donor"

#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# plain: killed processes report nothing
# timeout: 200
# A removal of any kind is durable when rm has returned; a removal that the disk refuses has not
# happened.
. "${0%/*}/../lib.sh"

need python3
disk=$TMP/disk
mount_image "${DISK:=ext4}" 400 "$disk"
trap 'umount -l "$disk" 2>/dev/null || true' EXIT
base=$(use scribe-Q4_K_M)
"$LORA" make "$base" "$TMP/style.gguf" '*.attn_q.weight'

# Each case is one removal, without another write to the disk before the power cut.
mount_model -o "layer=$disk/layer" "$base"
cp "$MNT/organs/blk_3_ffn_up.bin" "$TMP/organ"
cp "$TMP/organ" "$MNT/organs/blk_1_ffn_up.bin"
cp "$TMP/organ" "$MNT/organs/blk_100_ffn_up.bin"
ln -s "$TMP/organ" "$MNT/organs/blk_101_ffn_up.bin"
cp "$MNT/organs/blk_3_ffn_up.bin" "$MNT/organs/blk_102_ffn_up.bin"
echo mine >"$MNT/metadata/mine"
ln -s "$TMP/style.gguf" "$MNT/adapters/"
rm "$MNT"/organs/blk_{0,1,100,101,102}_ffn_up.bin "$MNT/norm/blk_1_attn_norm.bin" \
	"$MNT/metadata/mine" "$MNT/metadata/general.name" "$MNT/adapters/style.scale"
cut -f 1,2 "$MNT/.grafts" >"$TMP/grafts"
cut_power "$disk"
expect_fail 'input/output error|read-only' cp "$TMP/organ" "$MNT/organs/blk_0_ffn_up.bin"
expect_fail 'input/output error|read-only' rm "$MNT/metadata/general.architecture"
expect_fail 'input/output error|read-only' rm "$MNT/organs/blk_3_ffn_up.bin"
absent "$MNT/organs/blk_0_ffn_up.bin"
exists "$MNT/metadata/general.architecture"
same "$MNT/organs/blk_3_ffn_up.bin" "$TMP/organ"
kill_daemon
restore_power "$DISK" "$disk"
mount_model -o "layer=$disk/layer" "$base"
cut -f 1,2 "$MNT/.grafts" | diff "$TMP/grafts" - || fail 'another layer after the power cut'
for name in organs/blk_{0,1,100,101,102}_ffn_up.bin norm/blk_1_attn_norm.bin metadata/mine \
	metadata/general.name; do
	absent "$MNT/$name"
done
unmount_and_wait

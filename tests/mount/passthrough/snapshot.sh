#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# On a filesystem that shares blocks, an open grafted model.gguf is one file: the kernel reads it
# itself, and it takes only the grafts' room.
. "${0%/*}/../lib.sh"
need_passthrough
need strace

used() {
	sync -f "$TMP/disk"
	df --output=used -B1 "$TMP/disk" | tail -n 1
}

# run_on TYPE MIB: run the test there.
run_on() {
	local disk=$TMP/disk before now size
	mount_image "$1" "$2" "$disk"
	"$GGUF" synth "$disk/base.gguf" --tensors 100 --vocab 2000 --size 96M --fill
	mount_model -o "noassemble,layer=$disk/layer" "$disk/base.gguf"
	read_by passthrough "$MNT/model.gguf"
	cp "$MNT/organs/blk_1_ffn_up.bin" "$TMP/up"
	cp "$TMP/up" "$MNT/organs/blk_2_ffn_up.bin"
	size=$(stat -c %s "$TMP/up")
	cp "$MNT/model.gguf" "$TMP/expected.gguf"
	read_by snapshot "$MNT/model.gguf"
	before=$(used)
	exec 4<"$MNT/model.gguf"
	read_by snapshot "$MNT/model.gguf"
	same "$MNT/model.gguf" "$TMP/expected.gguf"
	now=$(used)
	[ $((now - before)) -lt $((2 * size + (8 << 20))) ] ||
		fail "$1: $((now - before)) bytes for a graft of $size"
	# A later graft does not reach an open file.
	cp "$TMP/up" "$MNT/organs/blk_3_ffn_up.bin"
	cmp /dev/fd/4 "$TMP/expected.gguf" || fail "$1: an open model.gguf has changed"
	differ "$MNT/model.gguf" "$TMP/expected.gguf"
	cp "$MNT/model.gguf" "$TMP/expected.gguf"
	exec 4<&-
	echo "$disk/out.gguf" >"$MNT/.assemble"
	same "$TMP/expected.gguf" "$disk/out.gguf"
	rm "$disk/out.gguf"
	unmount_and_wait
	# Grafts from the layer are hashed first, which delays no open().
	mount_model -o "noassemble,layer=$disk/layer" "$disk/base.gguf"
	read_by daemon "$MNT/model.gguf"
	same "$MNT/model.gguf" "$TMP/expected.gguf"
	read_by snapshot "$MNT/model.gguf"
	same "$MNT/model.gguf" "$TMP/expected.gguf"
	unmount_and_wait
	mount_model -o "noassemble,snapshot=no,layer=$disk/layer" "$disk/base.gguf"
	read_by daemon "$MNT/model.gguf"
	same "$MNT/model.gguf" "$TMP/expected.gguf"
	unmount_and_wait
	# The layer is elsewhere, and shares nothing with the base.
	mv "$disk/layer" "$TMP/layer"
	mount_model -o "noassemble,layer=$TMP/layer" "$disk/base.gguf"
	read_by daemon "$MNT/model.gguf"
	same "$MNT/model.gguf" "$TMP/expected.gguf"
	unmount_and_wait
	rm -r "$TMP/layer"
	umount "$disk"
	rm "$TMP/$1.img"
}

run_on xfs 600
run_on btrfs 600

# Organs changed by adapters are computed at the read.
mount_image xfs 600 "$TMP/other"
cp "$MODELS/scribe-Q4_K_M.gguf" "$TMP/other/base.gguf"
"$LORA" make "$TMP/other/base.gguf" "$TMP/style.gguf" '*.attn_q.weight'
mount_model -o "noassemble,layer=$TMP/other/layer" "$TMP/other/base.gguf"
ln -s "$TMP/style.gguf" "$MNT/adapters/"
read_by daemon "$MNT/model.gguf"
cat "$MNT/model.gguf" >/dev/null
rm "$MNT/adapters/style.gguf"
read_by passthrough "$MNT/model.gguf"
unmount_and_wait
umount "$TMP/other"

# The kernel accepts no file of a stacked filesystem.
mkdir "$TMP/upper" "$TMP/work" "$TMP/stacked" "$TMP/lower"
cp "$MODELS/scribe-Q4_K_M.gguf" "$TMP/lower/base.gguf"
mount -t overlay -o "lowerdir=$TMP/lower,upperdir=$TMP/upper,workdir=$TMP/work" overlay \
	"$TMP/stacked" 2>/dev/null || skip 'no overlay here'
mount_model -o noassemble "$TMP/stacked/base.gguf"
read_by daemon "$MNT/model.gguf"
same "$MNT/model.gguf" "$TMP/lower/base.gguf"
unmount_and_wait
umount "$TMP/stacked"

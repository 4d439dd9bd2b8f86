#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# plain: killed processes report nothing
# timeout: 200
# Removals do not wait for the disk where it keeps changes in order, and are as durable a moment
# later, or when that is asked for; if the disk fails then, the log says so, and the next that waits
# for it is told. Counted, not timed.
. "${0%/*}/../lib.sh"

need python3
faulty=${ORGANFS%/*}/tests/tools/organfs-faults
disk=$TMP/disk
mount_image ext4 200 "$disk"
trap 'umount -l "$disk" 2>/dev/null || true' EXIT
"$GGUF" small "$TMP/base.gguf" 1000

fsync_directory() {
	python3 -c 'import os, sys
os.fsync(os.open(sys.argv[1], os.O_RDONLY))' "$1"
}

# 2,000 organs, and each of them stays removed.
mount_held fsync -o "layer=$disk/layer" "$TMP/base.gguf"
equal "$(find "$MNT/organs" -name '*.bin' | wc -l)" 2000
cp "$MNT/organs/blk_3_ffn_up.bin" "$TMP/organ"
rm "$MNT/organs/blk_0_ffn_up.bin" # the first one waits for the directory of all
# The others are done while the disk answers no fsync(), of which there are few.
hold
rm -r "$MNT"/organs/*.bin
until_true 60 have_arrived 1 || fail 'nothing is made durable'
n=$(wc -l <"$TMP/arrived")
[ "$n" -le 2 ] || fail "$n fsync() wait for one another"
release
equal "$(find "$MNT/organs" -name '*.bin' | wc -l)" 0
fsync_directory "$MNT/organs"
fsync_directory "$MNT"
cut_power "$disk"
expect_fail 'input/output error' cp "$TMP/organ" "$MNT/organs/blk_3_ffn_up.bin"
expect_fail 'input/output error' rm "$MNT/metadata/general.architecture"
absent "$MNT/organs/blk_3_ffn_up.bin"
exists "$MNT/metadata/general.architecture"
kill_daemon
restore_power ext4 "$disk"
mount_model -o "layer=$disk/layer" "$TMP/base.gguf"
equal "$(find "$MNT/organs" -name '*.bin' | wc -l)" 0
equal "$(wc -l <"$MNT/.grafts")" 2000
unmount_and_wait
rm -r "$disk/layer"

# A removed graft, and an organ that was added.
mount_model -o "layer=$disk/layer" "$TMP/base.gguf"
cp "$TMP/organ" "$MNT/organs/blk_1_ffn_up.bin"
cp "$TMP/organ" "$MNT/organs/blk_1000_ffn_up.bin"
rm "$MNT/organs/blk_1_ffn_up.bin" "$MNT/organs/blk_1000_ffn_up.bin"
unmount_and_wait
mount_model -o "layer=$disk/layer" "$TMP/base.gguf"
absent "$MNT/organs/blk_1_ffn_up.bin"
absent "$MNT/organs/blk_1000_ffn_up.bin"
unmount_and_wait
absent "$disk/layer/.stage"

# The k-th fsync() fails: where it is that of a removal which was done already, the log tells, the
# next that waits is refused, and then all is well again.
[ -x "$faulty" ] || exit 0
told=
for k in {1..12}; do
	rm -rf "$disk/layer"
	ORGANFS_FAULT=fsync:$k:EIO "$faulty" -f -o "layer=$disk/layer" "$TMP/base.gguf" "$MNT" \
		>>"$LOGS/mnt" 2>&1 </dev/null &
	DAEMON[$MNT]=$!
	until_true 60 is_up "$MNT" || late "$MNT is not mounted after 60 s"
	if ! mountpoint -q "$MNT"; then
		wait "${DAEMON[$MNT]}" || true
		continue
	fi
	if rm "$MNT/organs/blk_1_ffn_up.bin" 2>/dev/null &&
		until_true 1 log_has 'last could not be made durable: Input/output error'; then
		expect_fail 'input/output error' fsync_directory "$MNT/organs"
		fsync_directory "$MNT/organs"
		cp "$TMP/organ" "$MNT/organs/blk_2_ffn_up.bin"
		absent "$MNT/organs/blk_1_ffn_up.bin"
		told=$k
	fi
	unmount_and_wait
	[ -z "$told" ] || break
done
[ -n "$told" ] || fail 'no fsync() was that of a removal'

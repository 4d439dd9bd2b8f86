#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# A full disk under the layer: the edit that meets it fails with the reason and changes nothing,
# confirmed edits stay, and once there is space this mount and the next one work. Undo works
# without space and inodes, also in a mount that found the disk full.
. "${0%/*}/../lib.sh"

need setfattr
need_root
base=$(use stories260K)
donor=$(use stories260K-donor)
mkdir "$TMP/small"
mount -t tmpfs -o size=1700k tmpfs "$TMP/small" || skip 'tmpfs cannot be mounted'
trap 'umount -l "$TMP/small"' EXIT
export XDG_STATE_HOME=$TMP/small/state
mount_model -o ro "$donor" "$TMP/donor"
mount_model -o noassemble "$base"
confirmed=()
refused=()

# Before and after the disk is full each slot is new and whole, or unchanged.
for file in "$TMP"/donor/organs/*.bin; do
	slot=$MNT/organs/${file##*/}
	cp "$slot" "$TMP/before"
	if cp "$file" "$slot" 2>"$TMP/said"; then
		same "$slot" "$file"
		confirmed+=("${file##*/}")
	else
		grep -q 'No space left on device' "$TMP/said" || fail "cp says: $(cat "$TMP/said")"
		same "$slot" "$TMP/before"
		refused+=("${file##*/}")
	fi
done
[ ${#confirmed[@]} -gt 1 ] || fail 'nothing could be grafted'
[ ${#refused[@]} -gt 1 ] || fail 'the disk did not get full'
log_says 'graft refused: No space left on device in '
equal "$(wc -l <"$MNT/.grafts")" ${#confirmed[@]} 'lines in .grafts'
all_stands() {
	local name
	for name in "${confirmed[@]}"; do
		same "$MNT/organs/$name" "$TMP/donor/organs/$name"
	done
	for name in "${refused[@]}"; do
		same "$MNT/organs/$name" "$MNT/.base/organs/$name"
	done
}

# Fill the disk to the last byte, so that no slot can be changed in any way.
fill() {
	dd if=/dev/zero bs=4k status=none 2>/dev/null >>"$TMP/small/ballast" || true
}
fill
slot=$MNT/organs/${refused[0]}
full() {
	expect_fail 'no space left' "$@"
	all_stands
}
before=$(descriptors)
full cp "$TMP/donor/organs/${refused[0]}" "$slot"
full install "$TMP/donor/organs/${refused[0]}" "$MNT/organs/.scratch"
full dd if=/dev/zero of="$slot" bs=1 count=1 seek=100 conv=notrunc status=none
full rsync --ignore-times "$TMP/donor/organs/${refused[0]}" "$slot"
rm -f "$MNT/organs/.scratch"
all_stands
no_leak "$before"

# An undo takes no space, and frees some.
cp "$MNT/.base/organs/${confirmed[0]}" "$MNT/organs/${confirmed[0]}"
same "$MNT/organs/${confirmed[0]}" "$MNT/.base/organs/${confirmed[0]}"
refused+=("${confirmed[0]}")
confirmed=("${confirmed[@]:1}")
all_stands
fill
echo "organs/${confirmed[0]}" >"$TMP/word"
cp "$TMP/word" "$MNT/.undo"
refused+=("${confirmed[0]}")
confirmed=("${confirmed[@]:1}")
all_stands

kill_daemon
mount_model -o noassemble "$base"
all_stands
fill
full cp "$TMP/donor/organs/${refused[0]}" "$slot"
rm "$TMP/small/ballast"
mount -o remount,size=8m "$TMP/small"
for name in "${refused[@]}"; do
	cp "$TMP/donor/organs/$name" "$MNT/organs/$name"
done
confirmed+=("${refused[@]}")
refused=()
all_stands
unmount_and_wait
mount_model -o noassemble "$base"
all_stands

rm "$MNT/norm/blk_2_attn_norm.bin"
echo other >"$MNT/metadata/general.name"
"$LORA" make "$base" "$TMP/style.gguf" 'blk.0.attn_q.weight'
ln -s "$TMP/style.gguf" "$MNT/adapters/style.gguf"
echo 0.5 >"$MNT/adapters/style.scale"
unmount_and_wait
fill
inodes=$(df --output=iused "$TMP/small" | tail -n 1)
mount -o "remount,nr_inodes=$((inodes + 9))" "$TMP/small"
expect_fail 'no space' touch "$TMP/small/more"{0..9}
mount_model -o noassemble "$base"
grep -q '^adapters/style' "$MNT/.grafts" || fail 'without an inode the layer is not taken up'
echo all >"$TMP/word"
cp "$TMP/word" "$MNT/.undo"
same "$MNT/model.gguf" "$base"
kill_daemon
mount_model -o noassemble "$base"
equal "$(cat "$MNT/.grafts")" ''
unmount_and_wait

# The log has more new pages for the database than the reserve has room for.
rm "$TMP/small/ballast"
mount -o remount,size=8m,nr_inodes=0 "$TMP/small"
mount_model -o noassemble "$base"
for round in 1 2 3; do
	cp "$TMP"/donor/organs/*.bin "$MNT/organs/"
done
typed=skeleton/blk_1_attn_q.bin
setfattr -n user.organfs.type -v q8_0 "$MNT/$typed"
fill
log=$(echo "$XDG_STATE_HOME"/organfs/*/layer.db-wal)
[ "$(stat -c %s "$log")" -gt 1200000 ] || fail "the log has $(stat -c %s "$log") bytes"
setfattr -x user.organfs.type "$MNT/$typed"
same "$MNT/$typed" "$MNT/.base/$typed"
for round in 0 1 2; do
	rm "$MNT/organs/blk_${round}_ffn_up.bin"
	absent "$MNT/organs/blk_${round}_ffn_up.bin"
done
echo all >"$TMP/word"
cp "$TMP/word" "$MNT/.undo"
same "$MNT/model.gguf" "$base"
unmount_and_wait
unmount_and_wait "$TMP/donor"

# A read-only disk is named as such.
mount_model -o "noassemble,layer=$TMP/small/layer" "$base"
unmount_and_wait
mount -o remount,ro "$TMP/small"
expect_fail 'layer.db: Read-only file system' "$ORGANFS" -o "layer=$TMP/small/layer" "$base" "$MNT"

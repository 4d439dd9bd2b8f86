#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# .base shows the base's content under any grafts, and a copy from it undoes a graft.
. "${0%/*}/../lib.sh"

base=$(use stories260K)
donor=$(use stories260K-donor)
mount_model "$base"
mount_model -o ro "$donor" "$TMP/donor"
listing() {
	(cd "$1" && find . -name '*.bin' -o -name 'blk*.theta' | sort)
}
# Without a graft the copy changes nothing.
cp "$MNT/.base/organs/blk_0_ffn_up.bin" "$MNT/organs/blk_0_ffn_up.bin"
equal "$(cat "$MNT/.grafts")" ""
no_litter "$XDG_STATE_HOME"
! ls -A "$MNT" | grep -q base || fail '.base is listed'
cp -r "$MNT/organs" "$TMP/organs"
listing "$MNT/organs" >"$TMP/names"
du -s "$MNT" >"$TMP/du"

cp "$TMP/donor/organs/"*.bin "$MNT/organs/"
rm "$MNT/organs/blk_1_ffn_up.bin"
mv "$MNT/organs/blk_2_ffn_up.bin" "$MNT/organs/blk_3_ffn_up.bin"
ln "$MNT/organs/blk_4_ffn_up.bin" "$MNT/organs/blk_9_ffn_up.bin"
equal "$(ls "$MNT/.base")" "$(printf 'embed\nmetadata\nnorm\norgans\nskeleton\ntheta.svg')"
listing "$MNT/.base/organs" | diff - "$TMP/names" || fail 'names in .base'
for file in "$TMP/organs"/*; do
	same "$MNT/.base/organs/${file##*/}" "$file"
done
equal "$(getfattr --only-values -n user.organfs.theta "$MNT/.base/organs/blk_0_ffn_up.bin")" \
	"$(cat "$TMP/organs/blk_0_ffn_up.theta")"
expect_fail 'denied|read-only|not permitted' eval ': >"$MNT/.base/organs/blk_0_ffn_up.bin"'
expect_fail 'denied|read-only|not permitted' rm -f "$MNT/.base/organs/blk_0_ffn_up.bin"
expect_fail 'denied|read-only|not permitted' eval ': >"$MNT/.base/organs/new"'
expect_fail 'denied|read-only|not permitted' mv "$MNT/organs/blk_0_ffn_up.bin" "$MNT/.base/organs/"
absent "$MNT/.base/organs/blk_9_ffn_up.bin"
absent "$MNT/.base/nothing"

cp "$MNT/.base/organs/blk_0_ffn_up.bin" "$MNT/organs/"
! grep -q blk_0_ffn_up "$MNT/.grafts" || fail 'the graft is still there'
same "$MNT/organs/blk_0_ffn_up.bin" "$TMP/organs/blk_0_ffn_up.bin"
cp "$MNT/.base/organs/"*.bin "$MNT/organs/"
rm "$MNT/organs/blk_9_ffn_up.bin"
equal "$(cat "$MNT/.grafts")" ''
same "$MNT/model.gguf" "$base"
empty_layer "$XDG_STATE_HOME"/organfs/*
# The organ with one byte less is a graft again.
cp "$TMP/organs/blk_0_ffn_up.bin" "$TMP/organ"
size=$(stat -c %s "$TMP/organ")
printf 'x' | dd of="$TMP/organ" bs=1 seek=$((size - 1)) conv=notrunc status=none
cp "$TMP/organ" "$MNT/organs/blk_0_ffn_up.bin"
equal "$(wc -l <"$MNT/.grafts")" 1
cp "$MNT/.base/organs/blk_0_ffn_up.bin" "$MNT/organs/"
kill_daemon
mount_model "$base"
equal "$(cat "$MNT/.grafts")" ''
same "$MNT/model.gguf" "$base"
unmount_and_wait "$TMP/donor"
unmount_and_wait
absent "$TMP/stories260K.grafted.gguf"
no_litter "$XDG_STATE_HOME"

# An option lists .base.
mount_model -o ro,views=listed "$base"
ls -A "$MNT" | grep -qx .base || fail '.base is not listed'
equal "$(find "$MNT/.base/organs" -name '*.bin' | wc -l)" "$(ls "$MNT/organs/"*.bin | wc -l)"
unmount_and_wait

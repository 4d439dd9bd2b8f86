#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# A slot that only a merge has can be removed, as any other: that is listed and can be undone. It
# ends with the merge, also where that ends without the mount: by a crash, or as MERGE is removed by
# hand.
. "${0%/*}/../lib.sh"

base=$(use scribe-Q4_K_M) donor=$(use clerk-Q4_K_M)
cd "$TMP"
organ=organs/blk_7_ffn_up.bin
{
	printf 'merge_method: passthrough\nslices:\n'
	printf -- '- sources: [{model: scribe-Q4_K_M, layer_range: [0, 4]}]\n'
	printf -- '- sources: [{model: clerk-Q4_K_M, layer_range: [2, 6]}]\n'
} >eight.yml

mount_model -o "noassemble,layer=$TMP/layer" "$base"
absent "$MNT/$organ"
cp eight.yml "$MNT/.merge"
cp "$MNT/$organ" kept
cp "$MNT/model.gguf" merged.gguf
rm "$MNT/$organ"
absent "$MNT/$organ"
grep -q "^$organ	removed	" "$MNT/.grafts" || fail "$(cat "$MNT/.grafts")"
grep -q "^# $organ	removed$" "$MNT/.undo" || fail "$(cat "$MNT/.undo")"
grep -q '^# organs	1 change$' "$MNT/.undo" || fail "$(cat "$MNT/.undo")"
echo "$organ" >"$MNT/.undo"
same "$MNT/$organ" kept
same "$MNT/model.gguf" merged.gguf
[ "$(wc -l <"$MNT/.grafts")" = 1 ] || fail "$(cat "$MNT/.grafts")"

# By hand.
rm "$MNT/$organ"
kill_daemon
rm layer/MERGE
mount_model -o "noassemble,layer=$TMP/layer" "$base"
log_says "$organ: .*removed is forgotten"
same "$MNT/model.gguf" "$base"
[ ! -s "$MNT/.grafts" ] || fail "$(cat "$MNT/.grafts")"
cp eight.yml "$MNT/.merge"
same "$MNT/model.gguf" merged.gguf
# And the next mount finds nothing of it.
kill_daemon
mount_model -o "noassemble,layer=$TMP/layer" "$base"
same "$MNT/model.gguf" merged.gguf

# To be read only, it is there as long as the layer has it, and takes nothing out of what is merged.
rm "$MNT/$organ"
kill_daemon
mv layer/MERGE .
touch layer/organs/.wh.blk_1_fn_up.bin
mount_model -o "ro,noassemble,layer=$TMP/layer" "$base"
same "$MNT/model.gguf" "$base"
log_says "$organ: .*removed is skipped"
# What is no further block of anything may be meant in another way.
log_says 'blk_1_fn_up.bin: left alone'
unmount_and_wait
rm layer/organs/.wh.blk_1_fn_up.bin
[ "$(find layer/organs -name '.wh.*' | wc -l)" = 1 ] || fail "$(ls -A layer/organs)"
mv MERGE layer/
mount_model -o "noassemble,layer=$TMP/layer" "$base"
absent "$MNT/$organ"
rm "$MNT/.merge"
same "$MNT/model.gguf" "$base"
unmount_and_wait
[ -z "$(find layer -name '.wh.*')" ] || fail "$(find layer -name '.wh.*')"

#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# A merge's own slot can be removed like any other: the removal is listed and can be undone. It
# ends with the merge, even if the merge ends outside of a mount, by a change of the layer's row.
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

# A removal by mv is undone if mv's file is refused.
echo junk >junk
expect_fail 'Invalid argument' mv junk "$MNT/$organ"
same "$MNT/$organ" kept
same "$MNT/model.gguf" merged.gguf
[ "$(wc -l <"$MNT/.grafts")" = 1 ] || fail "$(cat "$MNT/.grafts")"

# The merge's row is removed by hand.
rm "$MNT/$organ"
kill_daemon
layer_change layer 'DELETE FROM merge'
mount_model -o "noassemble,layer=$TMP/layer" "$base"
log_says "$organ: .*removal .* is deleted"
same "$MNT/model.gguf" "$base"
[ ! -s "$MNT/.grafts" ] || fail "$(cat "$MNT/.grafts")"
cp eight.yml "$MNT/.merge"
same "$MNT/model.gguf" merged.gguf
# The next mount has no removal.
kill_daemon
mount_model -o "noassemble,layer=$TMP/layer" "$base"
same "$MNT/model.gguf" merged.gguf

# A read-only mount ignores the removal of a slot without a merge, and keeps it in the layer.
rm "$MNT/$organ"
kill_daemon
layer_change layer '.backup kept.db'
layer_change layer "DELETE FROM merge; INSERT INTO slot (class, name, kind, mtime)
	VALUES ('organs', 'blk_1_fn_up', 'removed', 0)"
mount_model -o "ro,noassemble,layer=$TMP/layer" "$base"
same "$MNT/model.gguf" "$base"
log_says "$organ: .*removal .* is ignored"
# A slot that fits no other block stays in the layer, because it may have another meaning.
log_says 'blk_1_fn_up.bin is left alone'
unmount_and_wait
equal "$(layer_sql layer 'SELECT name, kind FROM slot')" \
	$'blk_1_fn_up|removed\nblk_7_ffn_up|removed' 'slots of a layer that was read'
mv kept.db layer/layer.db
mount_model -o "noassemble,layer=$TMP/layer" "$base"
absent "$MNT/$organ"
rm "$MNT/.merge"
same "$MNT/model.gguf" "$base"
unmount_and_wait
empty_layer layer

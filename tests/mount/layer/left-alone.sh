#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# A layer with a row that cannot be taken up is neither assembled without that row nor dropped;
# rows of another program do not keep a layer.
. "${0%/*}/../lib.sh"

base=$(use stories260K)
mount_model -o compress=off "$base"
cp "$MNT/organs/blk_1_ffn_up.bin" "$TMP/organ"
cp "$TMP/organ" "$MNT/organs/blk_0_ffn_up.bin"
cp "$TMP/organ" "$MNT/organs/blk_2_ffn_up.bin"
kill_daemon
layer=$(echo "$XDG_STATE_HOME"/organfs/*)
# is_kept BLOCK FILE: the layer has those bytes; puts FILE: graft them to block 0.
is_kept() {
	layer_sql "$layer" "SELECT writefile('$TMP/kept', bytes) FROM slot
		JOIN blob ON blob = number WHERE name = 'blk_$1_ffn_up'" >/dev/null
	same "$TMP/kept" "$2"
}
puts() {
	layer_change "$layer" "UPDATE blob SET bytes = readfile('$1'), size = length(readfile('$1'))
		WHERE number = (SELECT blob FROM slot WHERE name = 'blk_0_ffn_up')"
}
is_kept 0 "$TMP/organ"
echo junk >"$TMP/junk"
puts "$TMP/junk"
layer_change "$layer" "INSERT INTO slot (class, name, kind, mtime, blob)
	SELECT class, 'blk_99_ffn_up', kind, mtime, blob FROM slot WHERE name = 'blk_0_ffn_up'"

# If the slot exists, the row is a broken graft.
mount_model "$base"
log_says 'blk_0_ffn_up.bin: broken'
log_says 'organs/blk_99_ffn_up.bin is left alone'
equal "$(wc -l <"$MNT/.grafts")" 2
expect_fail 'input/output' cat "$MNT/organs/blk_0_ffn_up.bin"
expect_fail 'input/output' bash -c "echo '$TMP/chimera' >'$MNT/.assemble'"
assembly_says 'organs/blk_0_ffn_up.bin'
absent "$TMP/chimera"
pid=${DAEMON[$MNT]}
unmount
until_true 60 is_gone "$pid" || fail 'the daemon stays'
status=0
wait "$pid" || status=$?
unset "DAEMON[$MNT]"
equal $status 1 'exit status of the daemon'
absent "$TMP/stories260K.grafted.gguf"
is_kept 0 "$TMP/junk"
is_kept 99 "$TMP/junk"
is_kept 2 "$TMP/organ"

# .assemble writes a model without the skipped rows, and says so.
puts "$TMP/organ"
layer_change "$layer" "INSERT INTO blob
	SELECT 99, form, 5, xxh128, CAST('junk?' AS BLOB) FROM blob LIMIT 1"
layer_change "$layer" "UPDATE slot SET blob = 99 WHERE name = 'blk_99_ffn_up'"
mount_model "$base"
echo "$TMP/chimera" >"$MNT/.assemble"
assembly_says "^assembled: $TMP/chimera: .* written; without 1 file of the layer that is left alone"
unmount
until_true 60 is_gone "${DAEMON[$MNT]}" || fail 'the daemon stays'
wait "${DAEMON[$MNT]}" || status=$?
unset "DAEMON[$MNT]"
is_kept 0 "$TMP/organ"

# Once the layer is whole again, the model is whole too.
layer_change "$layer" "DELETE FROM slot WHERE name = 'blk_99_ffn_up'"
echo 'mine' >"$layer/NOTES"
mount_model "$base"
equal "$(wc -l <"$MNT/.grafts")" 2
unmount_and_wait
exists "$TMP/stories260K.grafted.gguf"
no_litter "$XDG_STATE_HOME" NOTES

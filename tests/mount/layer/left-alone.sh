#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# A layer in which something cannot be taken up is neither assembled without it nor dropped; what
# another program put into a layer does not keep it.
. "${0%/*}/../lib.sh"

base=$(use stories260K)
mount_model -o compress=off "$base"
cp "$MNT/organs/blk_1_ffn_up.bin" "$TMP/organ"
cp "$TMP/organ" "$MNT/organs/blk_0_ffn_up.bin"
cp "$TMP/organ" "$MNT/organs/blk_2_ffn_up.bin"
kill_daemon
kept=$(find "$XDG_STATE_HOME" -name blk_0_ffn_up.bin)
exists "$kept"
mv "$kept" "$TMP/moved"
echo junk >"$kept"

cp "$kept" "${kept%blk_0_ffn_up.bin}blk_99_ffn_up.bin"

# Of a slot that is there, it is a graft that cannot be read.
mount_model "$base"
log_says 'blk_0_ffn_up.bin: broken'
log_says 'blk_99_ffn_up.bin: left alone'
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
equal "$(cat "$kept")" junk
exists "${kept%blk_0_ffn_up.bin}blk_2_ffn_up.bin"

# Written by hand it is a model without what is left alone, and that is said.
mv -f "$TMP/moved" "$kept"
mount_model "$base"
echo "$TMP/chimera" >"$MNT/.assemble"
assembly_says "^assembled: $TMP/chimera: .* written; without 1 file of the layer that is left alone"
unmount
until_true 60 is_gone "${DAEMON[$MNT]}" || fail 'the daemon stays'
wait "${DAEMON[$MNT]}" || status=$?
unset "DAEMON[$MNT]"
exists "$kept"

# Once it is whole again, so is the model.
rm "${kept%blk_0_ffn_up.bin}blk_99_ffn_up.bin"
echo 'mine' >"${kept%organs/*}NOTES"
mount_model "$base"
equal "$(wc -l <"$MNT/.grafts")" 2
unmount_and_wait
exists "$TMP/stories260K.grafted.gguf"
absent "$kept"
no_litter "$XDG_STATE_HOME" NOTES

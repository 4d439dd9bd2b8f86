#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# A chimera of the base has the base's fingerprint, but does not get its grafts: neither from a
# private layer whose base is gone, nor from a named one. A layer without recorded contents works.
. "${0%/*}/../lib.sh"

base=$(use stories260K)
mount_model -o noassemble "$base"
cp "$MNT/organs/blk_1_ffn_up.bin" "$MNT/organs/blk_3_ffn_up.bin"
echo "$TMP/twin.gguf" >"$MNT/.assemble"
echo all >"$MNT/.undo"
cp "$MNT/organs/blk_2_ffn_up.bin" "$MNT/organs/blk_0_ffn_up.bin"
kill_daemon
layer=$(echo "$XDG_STATE_HOME"/organfs/*)
contents=$(layer_sql "$layer" 'SELECT contents FROM base')
[[ $contents =~ ^[0-9a-f]{32}$ ]] || fail "contents \"$contents\""
cp -r "$layer" "$TMP/given"
mkdir "$TMP/away"

# The base is gone, and another file has its fingerprint.
mv "$base" "$TMP/away"
mount_model -o noassemble "$TMP/twin.gguf"
equal "$(cat "$MNT/.grafts")" ''
unmount_and_wait
! "$ORGANFS" -o "layer=$TMP/given" "$TMP/twin.gguf" "$MNT" 2>"$TMP/said" ||
	fail 'the layer of another base'
grep -q 'made for another base' "$TMP/said" || fail "$(cat "$TMP/said")"

# Another file is at the base's path: the base was moved.
cp "$TMP/twin.gguf" "$base"
mount_model -o noassemble "$TMP/away/${base##*/}"
equal "$(cut -f 1 "$MNT/.grafts")" organs/blk_0_ffn_up.bin
unmount_and_wait
layer_change "$TMP/given" 'UPDATE base SET contents = NULL'
mount_model -o "layer=$TMP/given" "$TMP/away/${base##*/}"
equal "$(cut -f 1 "$MNT/.grafts")" organs/blk_0_ffn_up.bin
unmount_and_wait

# Times in whole seconds tell nothing, so the contents are compared.
touch -d @1700000000 "$TMP/away/${base##*/}" "$TMP/twin.gguf"
mount_model -o "noassemble,layer=$TMP/coarse" "$TMP/away/${base##*/}"
cp "$MNT/organs/blk_2_ffn_up.bin" "$MNT/organs/blk_0_ffn_up.bin"
unmount_and_wait
! "$ORGANFS" -o "layer=$TMP/coarse" "$TMP/twin.gguf" "$MNT" 2>"$TMP/said" ||
	fail 'the layer of another base, written in the same second'
grep -q 'another base, with the contents' "$TMP/said" || fail "$(cat "$TMP/said")"

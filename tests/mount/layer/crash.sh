#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# plain: killed processes report nothing
# After kill -9 the next mount has every graft that close() confirmed, and no half graft.
. "${0%/*}/../lib.sh"

base=$(use stories260K)
donor=$MODELS/stories260K-donor.gguf
for block in 0 1 2; do
	"$GGUF" organ "$donor" blk.$block.ffn_up.weight "$TMP/$block.bin"
done
"$GGUF" splice "$base" "$donor" 'blk.[01].ffn_up.weight' "$TMP/expected"
mount_model "$base"
cp "$TMP/0.bin" "$MNT/organs/blk_0_ffn_up.bin"
cp "$TMP/1.bin" "$MNT/organs/blk_1_ffn_up.bin"
exec 5>"$MNT/organs/blk_2_ffn_up.bin"
head -c 20000 "$TMP/2.bin" | dd bs=20000 status=none >&5 2>/dev/null || true
kill_daemon
exec 5>&- || true

mount_model "$base"
same "$MNT/organs/blk_0_ffn_up.bin" "$TMP/0.bin"
same "$MNT/model.gguf" "$TMP/expected"
equal "$(wc -l <"$MNT/.grafts")" 2 'lines in .grafts'
[ -s "$MNT/.log" ] || fail '.log does not tell of the grafts that were taken up'
kill_daemon

mount_model "$base"
same "$MNT/model.gguf" "$TMP/expected"
unmount_and_wait
same "$TMP/stories260K.grafted.gguf" "$TMP/expected"
no_litter "$XDG_STATE_HOME"
mount_model "$base"
same "$MNT/model.gguf" "$base"
unmount_and_wait

#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# plain: killed processes report nothing
# The daemon is killed at any moment of a stream of grafts: each slot is old or new, confirmed ones
# new.
# timeout: 200
. "${0%/*}/../lib.sh"

base=$(use stories260K)
donor=$MODELS/stories260K-donor.gguf
for block in 0 1 2 3 4; do
	"$GGUF" organ "$donor" blk.$block.ffn_up.weight "$TMP/blk_${block}_ffn_up.bin"
	"$GGUF" organ "$base" blk.$block.ffn_up.weight "$TMP/old.$block"
done

# Graft one after another, and note each completed cp.
grafter() {
	local block
	for block in 0 1 2 3 4; do
		cp "$TMP/blk_${block}_ffn_up.bin" "$MNT/organs/" 2>/dev/null || return 0
		echo $block >>"$TMP/confirmed"
	done
}

for delay in 0.001 0.003 0.005 0.008 0.012 0.016 0.02 0.03; do
	: >"$TMP/confirmed"
	mount_model -o noassemble "$base"
	grafter &
	sleep $delay
	kill_daemon
	wait %?grafter 2>/dev/null || wait
	mount_model -o noassemble "$base"
	for block in 0 1 2 3 4; do
		slot=$MNT/organs/blk_${block}_ffn_up.bin
		if grep -q $block "$TMP/confirmed" || ! cmp -s "$slot" "$TMP/old.$block"; then
			same "$slot" "$TMP/blk_${block}_ffn_up.bin"
		fi
	done
	equal "$(wc -l <"$MNT/.grafts")" "$(for block in 0 1 2 3 4; do
		cmp "$MNT/organs/blk_${block}_ffn_up.bin" "$TMP/old.$block"
	done 2>&1 | wc -l)" 'lines in .grafts'
	unmount_and_wait
	rm -rf "${XDG_STATE_HOME:?}"/*
done
same "$base" "$MODELS/stories260K.gguf"

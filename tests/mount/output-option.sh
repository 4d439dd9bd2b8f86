#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# output=: relative to where organfs was started, replaces, and is not written without grafts.
. "${0%/*}/lib.sh"

base=$(use stories260K)
"$GGUF" organ "$MODELS/stories260K-donor.gguf" blk.0.ffn_up.weight "$TMP/organ.bin"
"$GGUF" splice "$base" "$MODELS/stories260K-donor.gguf" blk.0.ffn_up.weight "$TMP/expected"
mkdir "$TMP/elsewhere"
echo old >"$TMP/elsewhere/out.gguf"

cd "$TMP/elsewhere"
mount_daemon -o output=out.gguf "$base" "$MNT"
cd "$TMP"
unmount_and_wait
equal "$(cat "$TMP/elsewhere/out.gguf")" old

cd "$TMP/elsewhere"
mount_daemon -o output=out.gguf "$base" "$MNT"
cd "$TMP"
cp "$TMP/organ.bin" "$MNT/organs/blk_0_ffn_up.bin"
unmount_and_wait
same "$TMP/elsewhere/out.gguf" "$TMP/expected"
equal "$(ls -A "$TMP/elsewhere")" out.gguf
absent "$TMP/stories260K.grafted.gguf"

# The base itself is no output, and neither is what lies in a directory that is not there: that is
# said at once, or the grafts are kept.
for output in "$base" "$TMP/none/out.gguf"; do
	if "$ORGANFS" -o "output=$output" "$base" "$MNT" 2>/dev/null; then
		fusermount3 -u "$MNT"
		wait_for_end "$MNT"
		mount_daemon -o "output=$output" "$base" "$MNT"
		cp "$TMP/organ.bin" "$MNT/organs/blk_0_ffn_up.bin"
		unmount_and_wait
		same "$base" "$MODELS/stories260K.gguf"
		mount_model -o noassemble "$base"
		same "$MNT/organs/blk_0_ffn_up.bin" "$TMP/organ.bin"
		unmount_and_wait
		rm -rf "${XDG_STATE_HOME:?}"/*
	fi
done
same "$base" "$MODELS/stories260K.gguf"

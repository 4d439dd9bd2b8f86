#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Reads of a base overwritten in place fail with EIO; a base replaced by rename is not mixed in.
. "${0%/*}/../lib.sh"

base=$(use stories260K)
cp "$base" "$TMP/whole"
mount_model "$base"
cat "$MODELS/stories260K-donor.gguf" >"$base" # other bytes of the same size
expect_fail 'input/output error' cat "$MNT/organs/blk_1_ffn_up.bin"
expect_fail 'input/output error' cat "$MNT/model.gguf"
kill -0 "${DAEMON[$MNT]}" || fail 'the daemon died'
unmount_and_wait

cp "$TMP/whole" "$base"
mount_model "$base"
cp "$MODELS/stories260K-donor.gguf" "$TMP/new"
mv "$TMP/new" "$base"
if cat "$MNT/organs/blk_1_ffn_up.bin" >"$TMP/read" 2>/dev/null; then
	"$GGUF" organ "$TMP/whole" blk.1.ffn_up.weight "$TMP/organ"
	same "$TMP/read" "$TMP/organ"
fi
if cat "$MNT/model.gguf" >"$TMP/read" 2>/dev/null; then
	same "$TMP/read" "$TMP/whole"
fi
kill -0 "${DAEMON[$MNT]}" || fail 'the daemon died'
unmount_and_wait

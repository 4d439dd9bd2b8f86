#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# All organs are grafted at the same time, in several rounds, and the last one counts.
. "${0%/*}/../lib.sh"

base=$(use scribe-Q4_K_M)
donor=$(use clerk-Q4_K_M)
mkdir "$TMP/donor" "$TMP/own"
mount_model "$base"
mount_model -o ro "$donor" "$TMP/donor"
cp "$MNT"/organs/*.bin "$TMP/own/"
before=$(descriptors)
for round in 1 2 3; do
	writers=()
	for organ in "$TMP"/donor/organs/*.bin; do
		name=${organ##*/}
		{ cp "$TMP/own/$name" "$MNT/organs/" && cp "$organ" "$MNT/organs/"; } &
		writers+=($!)
	done
	for writer in "${writers[@]}"; do
		wait "$writer" || fail "a writer failed in round $round"
	done
done
"$GGUF" splice "$base" "$donor" 'blk.*.ffn_[gud]*' "$TMP/expected"
same "$MNT/model.gguf" "$TMP/expected"
no_leak $((before + 18 + 4)) # the grafts and the layer
unmount_and_wait
same "$TMP/scribe-Q4_K_M.grafted.gguf" "$TMP/expected"
unmount_and_wait "$TMP/donor"

#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The unmount writes STEM.grafted.gguf beside the base, then -2, and overwrites nothing.
. "${0%/*}/../lib.sh"

base=$(use stories260K)
"$GGUF" organ "$MODELS/stories260K-donor.gguf" blk.0.ffn_up.weight "$TMP/organ.bin"
for n in '' -2 -3; do
	mount_daemon "$base" "$MNT"
	cp "$TMP/organ.bin" "$MNT/organs/blk_0_ffn_up.bin"
	cp "$MNT/model.gguf" "$TMP/expected$n"
	unmount_and_wait
	same "$TMP/stories260K.grafted$n.gguf" "$TMP/expected$n"
done
equal "$(ls "$TMP"/*.gguf | wc -l)" 4 'models'

# Without a graft the unmount writes nothing.
mount_daemon "$base" "$MNT"
unmount_and_wait
equal "$(ls "$TMP"/*.gguf | wc -l)" 4 'models'
no_litter "$XDG_STATE_HOME"

#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The mount is listed as organfs with the model as its source, even if that has commas.
. "${0%/*}/../lib.sh"

cp "$MODELS/stories260K.gguf" "$TMP/a, b.gguf"
mount_model "$TMP/a, b.gguf"
grep -qE "$MNT fuse(blk)?\.organfs " /proc/mounts || fail "$(grep "$MNT" /proc/mounts)"
same "$MNT/model.gguf" "$TMP/a, b.gguf"
"$GGUF" check-mount "$TMP/a, b.gguf" "$MNT"
unmount_and_wait

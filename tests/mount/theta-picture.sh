#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The picture in README is the one that a mount of scribe shows today. If it is not, mount
# tests/models/scribe-Q4_K_M.gguf under the name scribe.gguf and copy theta.svg there.
. "${0%/*}/lib.sh"

cp "$MODELS/scribe-Q4_K_M.gguf" "$TMP/scribe.gguf"
mount_model -o ro "$TMP/scribe.gguf"
same "$MNT/theta.svg" "$here/../../mount-helpers/theta-scribe.svg"
unmount_and_wait

#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# A busy mount is not unmounted; a lazy unmount serves the last reader first.
. "${0%/*}/../lib.sh"

base=$(use stories260K)
mount_model "$base"
exec 6<"$MNT/model.gguf"
! fusermount3 -u "$MNT" 2>/dev/null || fail 'unmounted under a reader'
same "$MNT/model.gguf" "$base"
fusermount3 -uz "$MNT"
cmp - "$base" <&6
exec 6<&-
wait_daemon

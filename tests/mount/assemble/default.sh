#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# An empty line in .assemble asks for the default name, which overwrites nothing.
. "${0%/*}/../lib.sh"

base=$(use stories260K)
mount_model "$base"
echo >"$MNT/.assemble"
same "$TMP/stories260K.grafted.gguf" "$base"
assembly_says 'stories260K\.grafted\.gguf'
echo >"$MNT/.assemble"
same "$TMP/stories260K.grafted-2.gguf" "$base"
unmount_and_wait

mount_model -o "output=$TMP/named.gguf" "$base"
echo >"$MNT/.assemble"
same "$TMP/named.gguf" "$base"
unmount_and_wait
absent "$TMP/stories260K.grafted-3.gguf"

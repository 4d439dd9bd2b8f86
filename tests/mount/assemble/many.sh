#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# A shard for each tensor, where the limit of open files is hardly higher.
. "${0%/*}/../lib.sh"

need_strace
base=$(use stories260K)
ulimit -n 80
mount_model "$base"
mkdir "$TMP/out"
# Remains of a killed assembly are searched once, not once per shard.
strace -f -qq -o "$TMP/calls" -p "${DAEMON[$MNT]}" -e trace=getdents64 2>"$LOGS/strace" &
TRACER=$!
until_true 60 is_traced "${DAEMON[$MNT]}" || late "strace: $(tail -n 1 "$LOGS/strace")"
touch "$TMP/out/.organfs-0123456789abcdef.part"
echo "$TMP/out/x-%05d-of-%05d.gguf split=1" >"$MNT/.assemble" || fail "$(cat "$MNT/.assemble")"
full_speed
equal "$(ls -A "$TMP/out" | wc -l)" 48
equal "$(ls "$TMP"/out/x-*-of-00048.gguf | wc -l)" 48
[ "$(wc -l <"$TMP/calls")" -le 8 ] || fail "$(cat "$TMP/calls")"
unmount_and_wait

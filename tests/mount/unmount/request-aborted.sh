#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# plain: LeakSanitizer does not work under strace
# The kernel ends the connection between taking a request from its queue and handing it to the
# daemon, which then reads ECONNABORTED instead of ENODEV: the mount ends as by umount(8), and the
# model is written.
. "${0%/*}/../lib.sh"

need_strace
base=$(use stories260K)
"$GGUF" organ "$base" blk.1.ffn_up.weight "$TMP/1.bin"
mount_model -o "output=$TMP/out.gguf" "$base"
pid=${DAEMON[$MNT]}
cp "$TMP/1.bin" "$MNT/organs/blk_0_ffn_up.bin"
cp "$MNT/model.gguf" "$TMP/expected.gguf"
strace -f -qq -o "$TMP/calls" -p "$pid" -P /dev/fuse -e trace=read,splice \
	-e inject=read,splice:error=ECONNABORTED 2>>"$LOGS/strace" &
TRACER=$!
until_true 60 eval "is_gone $pid || is_traced $pid 2>/dev/null" ||
	late "strace: $(tail -n 1 "$LOGS/strace")"
# Make a request, in case no call of the daemon was restarted.
stat "$MNT/manifest.json" >/dev/null 2>&1 || true
wait_daemon
full_speed
same "$TMP/out.gguf" "$TMP/expected.gguf"

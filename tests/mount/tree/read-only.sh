#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# ro: everything is readable, nothing writable, and the unmount writes nothing.
. "${0%/*}/../lib.sh"

base=$(use stories260K)
mount_model -o ro "$base"
"$GGUF" check-mount "$base" "$MNT"
same "$MNT/model.gguf" "$base"
cp "$MODELS/stories260K.gguf" "$TMP/x"
expect_fail 'read-only' cp "$TMP/x" "$MNT/organs/blk_0_ffn_up.bin"
expect_fail 'read-only' bash -c "echo '$TMP/out.gguf' >'$MNT/.assemble'"
expect_fail 'read-only' touch "$MNT/organs/new.bin"
expect_fail 'read-only' rm "$MNT/organs/blk_0_ffn_up.bin"
expect_fail 'read-only' mkdir "$MNT/new"
expect_fail 'read-only' chmod 600 "$MNT/organs/blk_0_ffn_up.bin"
grep -q "$MNT [^ ]* ro" /proc/self/mounts || fail "mounted: $(grep "$MNT" /proc/self/mounts)"
unmount_and_wait
absent "$TMP/out.gguf"
no_litter "$XDG_STATE_HOME"
# The base may be a read-only file.
chmod 400 "$base"
mount_model -o ro "$base"
same "$MNT/model.gguf" "$base"
unmount_and_wait

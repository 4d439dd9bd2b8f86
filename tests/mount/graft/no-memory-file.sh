#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# plain: LeakSanitizer does not work under strace
# Without memfd small grafts are staged on disk.
. "${0%/*}/../lib.sh"
need strace
strace -qq -o /dev/null -e trace=memfd_create true 2>/dev/null || skip "no strace here"

cat >"$TMP/without" <<END
#!/bin/sh
exec strace -D -f -qq -o /dev/null \\
	-e trace=memfd_create -e inject=memfd_create:error=EACCES "$ORGANFS" "\$@"
END
chmod +x "$TMP/without"
ORGANFS=$TMP/without
base=$(use scribe-Q4_K_M)
"$GGUF" organ "$base" blk.1.ffn_up.weight "$TMP/1.bin"
mount_model "$base"
cp "$TMP/1.bin" "$MNT/organs/blk_0_ffn_up.bin" || fail "no graft"
same "$MNT/organs/blk_0_ffn_up.bin" "$TMP/1.bin"
unmount_and_wait

#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# plain: LeakSanitizer does not work under strace
# The last transaction in a killed mount's log may not be on the disk: the next mount syncs the log
# before SQLite opens it, and thus before it shows the transaction.
. "${0%/*}/../lib.sh"

need_strace
base=$(use stories260K)
"$GGUF" organ "$base" blk.1.ffn_up.weight "$TMP/1.bin"
mount_model -o "noassemble,layer=$TMP/layer" "$base"
cp "$TMP/1.bin" "$MNT/organs/blk_0_ffn_up.bin"
kill_daemon
exists "$TMP/layer/layer.db-wal"
cat >"$TMP/traced" <<END
#!/bin/sh
exec strace -D -f -qq -o "$TMP/calls" -e trace=openat,fdatasync,fsync "$ORGANFS" "\$@"
END
chmod +x "$TMP/traced"
ORGANFS=$TMP/traced
mount_model -o "noassemble,layer=$TMP/layer" "$base"
same "$MNT/organs/blk_0_ffn_up.bin" "$TMP/1.bin"
# organfs opens the log first, and its sync comes before SQLite opens it for writing.
grep -E 'layer\.db-wal"|fdatasync' "$TMP/calls" | head -n 3 >"$TMP/first"
equal "$(grep -oE 'O_RDONLY|O_RDWR|fdatasync' "$TMP/first" | tr '\n' ' ')" \
	'O_RDONLY fdatasync O_RDWR '
unmount_and_wait

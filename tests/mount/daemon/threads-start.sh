#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# plain: LeakSanitizer does not work under strace
# A thread that works before its creator goes on is counted once.
. "${0%/*}/../lib.sh"
need strace
strace -qq -o /dev/null -e trace=clone3 true 2>/dev/null || skip "no strace here"

cat >"$TMP/slow" <<END
#!/bin/sh
exec strace -D -f -qq -o /dev/null -e trace=clone3 \\
	-e inject=clone3:delay_exit=300000 "$ORGANFS" "\$@"
END
chmod +x "$TMP/slow"
ORGANFS=$TMP/slow
base=$(use stories260K)
for signal in INT TERM; do
	mount_model -o ro "$base"
	ls -lR "$MNT" >"$TMP/list"
	cat "$MNT"/*/.theta >"$TMP/table"
	kill "-$signal" "${DAEMON[$MNT]}"
	wait_daemon
done

#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# A thread that gets to work before the one that started it goes on is counted once.
. "${0%/*}/../lib.sh"
need strace
strace -qq -o /dev/null -e trace=clone3 true 2>/dev/null || skip "no strace here"

# A process that is traced cannot look for leaks.
cat >"$TMP/slow" <<END
#!/bin/sh
ASAN_OPTIONS=\$ASAN_OPTIONS:detect_leaks=0 exec strace -D -f -qq -o /dev/null -e trace=clone3 \\
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

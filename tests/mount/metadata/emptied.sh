#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# plain: LeakSanitizer does not work under strace
# The next open() finds the value that close() confirmed, even if a string was only emptied: the
# kernel sends RELEASE only after close() has returned.
. "${0%/*}/../lib.sh"

base=$(use stories260K)
mount_model "$base"
key=$MNT/metadata/general.name
need_strace

# Make the daemon's present threads take requests late. A new thread may answer a later request
# earlier.
mapfile -t tasks < <(ls "/proc/${DAEMON[$MNT]}/task")
are_traced() {
	local task
	for task in "${tasks[@]}"; do
		! grep -q '^TracerPid:[[:space:]]*0$' "/proc/${DAEMON[$MNT]}/task/$task/status" ||
			return 1
	done
}
strace -qq -o /dev/null "${tasks[@]/#/--attach=}" -e trace=read,readv,splice \
	-e inject=read,readv,splice:delay_exit=20000 2>>"$LOGS/strace" &
TRACER=$!
until_true 60 are_traced || late "strace: $(tail -n 1 "$LOGS/strace")"
python3 - "$key" "$(rounds 400 60)" <<'END'
import os, sys
key, new = sys.argv[1], os.O_WRONLY | os.O_CREAT | os.O_TRUNC
def put(text):
    f = os.open(key, new)
    if text:
        os.write(f, text)
    os.close(f)
def get():
    f = os.open(key, os.O_RDONLY)
    text = os.read(f, 100)
    os.close(f)
    return text
for i in range(int(sys.argv[2])):
    put(b"%d\n" % i)
    if get() != b"%d\n" % i:
        sys.exit(f"round {i}: the written value is missing")
    put(b"")
    text = get()
    if text != b"\n":
        sys.exit(f"round {i}: it was emptied, and is {text}")
END
full_speed

# An emptied and duplicated descriptor stays open: look-ups wait only for a moment, and a later
# write counts.
echo before >"$key"
{
	[ "$(timeout 30 cat "$key")" = before ] || fail 'it is empty before it is closed'
	in_time 30 ls -lR "$MNT" >/dev/null || fail 'a lookup waits for a descriptor to be closed'
	echo after
} >"$key"
equal "$(cat "$key")" after
unmount_and_wait

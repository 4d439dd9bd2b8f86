#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# SIGHUP does not end a mount, but the end of the terminal ends a foreground mount.
. "${0%/*}/../lib.sh"

# Start a daemon in a terminal, until stdin ends.
cat >"$TMP/terminal.py" <<'END'
import os, pty, sys

pid, terminal = pty.fork()
if pid == 0:
    os.execv(sys.argv[1], [sys.argv[1], "-f", "-o", "ro", *sys.argv[2:]])
print(pid, flush=True)
sys.stdin.read()
os.close(terminal)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
END
# The main thread has no pending signal, and waits for the next one.
has_heard() {
	! grep -Eq '^S(ig|hd)Pnd:.*[1-9a-f]' "/proc/$1/status" &&
		grep -q sigtimedwait "/proc/$1/wchan"
}
hang_up() {
	until_true 60 has_heard "$1" || late 'the daemon does not wait for signals'
	kill -HUP "$1"
	until_true 60 has_heard "$1" || fail 'SIGHUP is not taken, or an end'
	exists "$MNT/model.gguf"
}

base=$(use stories260K)
mkfifo "$TMP/end"
python3 "$TMP/terminal.py" "$ORGANFS" "$base" "$MNT" <"$TMP/end" >"$TMP/pid" &
terminal=$!
exec 9>"$TMP/end"
until_true 60 is_mounted_at "$MNT" || late 'no mount in a terminal'
until_true 60 test -s "$TMP/pid" || late 'no process number'
hang_up "$(cat "$TMP/pid")"
exec 9>&-
until_true 60 is_gone $terminal || fail 'the mount outlives its terminal'
wait $terminal || fail 'the daemon fails as its terminal ends'
! is_mounted_at "$MNT" || fail 'a mount stays'

# Without a terminal SIGHUP never ends it.
mount_model -o ro "$base"
hang_up "${DAEMON[$MNT]}"
unmount_and_wait

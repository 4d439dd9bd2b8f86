#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# SIGHUP is no end of a mount, but that of its terminal is, where it is in the foreground of one.
. "${0%/*}/../lib.sh"

cat >"$TMP/terminal.py" <<'END'
import os, pty, signal, sys, time

def wait_for(up):
    for _ in range(500):
        if os.path.ismount(sys.argv[3]) == up:
            return
        time.sleep(0.02)
    sys.exit(f"mounted: {not up}")

pid, terminal = pty.fork()
if pid == 0:
    os.execv(sys.argv[1], [sys.argv[1], "-f", "-o", "ro", *sys.argv[2:]])
wait_for(True)
os.kill(pid, signal.SIGHUP)
time.sleep(0.5)
wait_for(True)
os.close(terminal)
wait_for(False)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
END
base=$(use stories260K)
python3 "$TMP/terminal.py" "$ORGANFS" "$base" "$MNT" || fail 'the terminal is gone'

# Without a terminal nothing ends it.
mount_model -o ro "$base"
kill -HUP "${DAEMON[$MNT]}"
sleep 0.3
exists "$MNT/model.gguf"
unmount_and_wait

#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# plain: measures memory
# timeout: 300
# A model with false counts takes no memory for absent data, whether it is refused or mounted and
# read: at most 48 MiB, and 8 KiB for each existing tensor. Its mount shows only directories and
# plain files that are not executable.
. "${0%/*}/../lib.sh"

limit=$((48 * 1024))
"$GGUF" hostile "$TMP/hostile"
python3 - "$ORGANFS" "$MNT" $limit "$MALFORMED"/*.gguf "$TMP"/hostile/*.gguf <<'END'
import os
import stat
import subprocess
import sys
import time

organfs, mnt, limit, *models = sys.argv[1:]
mounted = most = 0
for model in models:
    daemon = subprocess.Popen([organfs, "-f", "-o", "ro", model, mnt], stdin=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL)
    began = time.monotonic()
    tensors = 0
    while not os.path.ismount(mnt):
        pid, status, usage = os.wait4(daemon.pid, os.WNOHANG)
        if pid:
            break
        if time.monotonic() > began + 60:
            sys.exit(f"{model}: neither mounted nor refused after 60 s")
        time.sleep(0.01)
    if os.path.ismount(mnt):
        mounted += 1
        for where, directories, files in os.walk(mnt):
            tensors += sum(name.endswith(".bin") for name in files)
            for name in directories + files:
                kind = os.lstat(os.path.join(where, name))
                if not (stat.S_ISDIR(kind.st_mode) or
                        stat.S_ISREG(kind.st_mode) and not kind.st_mode & 0o7111):
                    sys.exit(f"{model}: {name} has mode {kind.st_mode:o}")
            for name in files[:200]:
                try:
                    with open(os.path.join(where, name), "rb") as file:
                        file.read(1 << 20)
                except OSError as err:
                    print(f"{model}: {err}")  # its claims cannot be computed
        with open(f"/proc/{daemon.pid}/status", encoding="ascii") as file:
            peak = next(int(line.split()[1]) for line in file if line.startswith("VmHWM"))
        subprocess.run(["fusermount3", "-u", mnt], check=True)
        if daemon.wait(60):
            sys.exit(f"{model}: the daemon ends with {daemon.returncode}")
    else:
        peak = usage.ru_maxrss
        if os.waitstatus_to_exitcode(status) != 1:
            sys.exit(f"{model}: exit status {os.waitstatus_to_exitcode(status)}")
    if peak > int(limit) + 8 * tensors:
        sys.exit(f"{model}: {peak} KiB")
    most = max(most, peak)
print(f"{len(models)} models, {mounted} mounted, at most {most} KiB")
if mounted < 20 or mounted > len(models) - 20:
    sys.exit("too many are mounted, or too few")
END
no_litter "$XDG_STATE_HOME"

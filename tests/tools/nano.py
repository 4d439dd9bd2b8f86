#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""nano.py - drive nano as a user at a terminal does: delete the first line of a file, type another
one, save, leave.

    nano.py FILE LINE [OPTION OF NANO...]
"""
import os
import pty
import select
import sys
import time


def drain(fd, seconds):
    """Output of nano until it is silent for the given seconds; None at its end."""
    shown = b""
    while select.select([fd], [], [], seconds)[0]:
        try:
            got = os.read(fd, 65536)
        except OSError:
            return None
        if not got:
            return None
        shown += got
    return shown


def main():
    file, line, *options = sys.argv[1:]
    pid, fd = pty.fork()
    if pid == 0:
        os.environ["TERM"] = "vt100"
        os.execvp("nano", ["nano", "--ignorercfiles", *options, file])
    drain(fd, 0.5)
    for keys in (b"\x0b", line.encode() + b"\r", b"\x0f", b"\r", b"\x18"):
        os.write(fd, keys)
        if drain(fd, 0.3) is None:
            break
    # Answer no when nano asks whether to save the text that it could not save.
    for keys in (b"\x18", b"n"):
        time.sleep(0.1)
        try:
            os.write(fd, keys)
            drain(fd, 0.2)
        except OSError:
            break
    _, status = os.waitpid(pid, 0)
    sys.exit(os.waitstatus_to_exitcode(status))


if __name__ == "__main__":
    main()

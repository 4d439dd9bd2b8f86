#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""faults.py - a fixed sequence of edits of every kind on a mount whose disk may fail. Confirmed
edits must show, and refused ones must have changed nothing; the program checks both right after
each edit.

    faults.py MOUNT DONOR STATE

Arguments are those of edits.py, whose --check compares the next mount with STATE. The directory
files beside STATE has copies of the donor's organs outside of any mount. Exits 0 after the last
edit, 3 if the daemon has died, and 1 if the mount shows something else.
"""
import errno
import os
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from edits import Edits, organs_of, read  # noqa: E402

SECONDS = 20


class Faults(Edits):
    def attempt(self, changes, *command, between=None):
        """Run a command with these changes (file name to bytes, None for gone) if it succeeds,
        else none. A tool of several steps may also stop at the states in between."""
        outcome = {n: b for n, b in {**self.expected, **changes}.items() if b is not None}
        others = [{n: b for n, b in self.expected.items() if n != between}] if between else []
        self.save([outcome, *others])
        done = subprocess.run(command, stderr=subprocess.PIPE, timeout=SECONDS, check=False)
        # If the command failed because the daemon died, this listing of the mount fails.
        shown = organs_of(self.mount)
        confirmed = done.returncode == 0
        if not confirmed and shown in others:
            self.expected = shown
        elif confirmed:
            self.expected = outcome
        self.save()
        if shown != self.expected:
            wrong = sorted(n for n in set(shown) | set(self.expected)
                           if shown.get(n) != self.expected.get(n))
            raise AssertionError(f"{command} was {'confirmed' if confirmed else 'refused'}, "
                                 f"{done.stderr.decode()}; wrong: {wrong}")
        return confirmed

    @property
    def files(self):
        return os.path.join(os.path.dirname(os.path.abspath(self.state)), "files")

    def organ(self, name):
        return f"organs/blk_{name}.bin"

    def copy(self, donor, target, *tool, between=False):
        source = os.path.join(self.donor, self.organ(donor))
        target = self.organ(target)
        self.attempt({target: read(source)}, *(tool or ("cp",)), source, self.path(target),
                     between=target if between else None)

    def within(self, source, target, *tool):
        source, target = self.organ(source), self.organ(target)
        if source in self.expected:
            self.attempt({target: self.expected[source]}, *tool, self.path(source),
                         self.path(target))

    def link(self, source, target):
        if self.organ(target) not in self.expected:
            self.within(source, target, "ln")

    def move(self, source, target):
        source, target = self.organ(source), self.organ(target)
        if source in self.expected:
            self.attempt({target: self.expected[source], source: None}, "mv", self.path(source),
                         self.path(target))

    def remove(self, name):
        name = self.organ(name)
        if name in self.expected:
            self.attempt({name: None}, "rm", self.path(name))

    def poke(self, name, *options):
        """Write another last byte in place."""
        name = self.organ(name)
        data = self.expected.get(name)
        if not data:
            return
        data = data[:-1] + bytes([data[-1] ^ 0x55])
        script = 'printf "%b" "$1" | dd of="$2" bs=1 seek="$3" conv=notrunc"$4" status=none'
        self.attempt({name: data}, "sh", "-c", script, "sh", f"\\0{data[-1]:03o}", self.path(name),
                     str(len(data) - 1), *options, "")

    def point(self, donor, target, *options):
        """Make a symbolic link to the donor's file on disk, which reads as its target."""
        source, target = os.path.join(self.files, f"blk_{donor}.bin"), self.organ(target)
        self.attempt({target: read(source)}, "ln", "-s", *options, source, self.path(target),
                     between=target if options and target in self.expected else None)

    def undo(self, name):
        name = self.organ(name)
        base = os.path.join(self.mount, ".base", name)
        self.attempt({name: read(base)}, "cp", base, self.path(name))

    def beside(self, donor, target):
        """Rename a temporary file onto the slot."""
        source, target = (os.path.join(self.donor, self.organ(donor)), self.organ(target))
        temporary = self.path(f"organs/.{os.path.basename(target)}.part")
        if self.attempt({}, "cp", source, temporary):
            self.attempt({target: read(source)}, "mv", temporary, self.path(target))
        self.attempt({}, "rm", "-f", temporary)

    def aside(self, name):
        """Rename a slot to a name that is no slot, and back."""
        slot, other = self.organ(name), self.path("organs/aside")
        content = self.expected.get(slot)
        if content and self.attempt({slot: None}, "mv", self.path(slot), other):
            self.attempt({slot: content}, "mv", other, self.path(slot))

    def sequence(self):
        self.copy("0_ffn_up", "0_ffn_up")
        self.remove("1_ffn_down")
        self.link("2_ffn_gate", "5_ffn_gate")
        self.copy("4_ffn_up", "6_ffn_up")
        self.move("0_ffn_up", "1_ffn_up")
        self.move("6_ffn_up", "2_ffn_up")
        self.poke("3_ffn_gate")
        self.within("3_ffn_gate", "4_ffn_gate", "cp")
        self.link("3_ffn_gate", "7_ffn_gate")
        self.undo("3_ffn_gate")
        self.beside("0_ffn_down", "0_ffn_down")
        self.remove("5_ffn_gate")
        self.copy("1_ffn_down", "1_ffn_down")
        self.move("1_ffn_up", "0_ffn_up")
        self.move("1_ffn_gate", "0_ffn_gate")
        self.copy("0_ffn_gate", "1_ffn_gate", "install", between=True)
        self.move("0_ffn_gate", "1_ffn_gate")
        self.remove("3_ffn_up")
        self.undo("3_ffn_up")
        self.poke("0_ffn_down", ",fsync")
        self.aside("4_ffn_down")
        self.copy("2_ffn_down", "2_ffn_down", "cp", "--remove-destination", between=True)
        self.move("7_ffn_gate", "8_ffn_gate")
        self.point("1_ffn_up", "3_ffn_up", "-f")
        self.point("2_ffn_up", "9_ffn_up")
        self.link("9_ffn_up", "5_ffn_up")
        self.move("9_ffn_up", "4_ffn_up")
        # Without the option cp would write to the link's target.
        self.copy("0_ffn_up", "3_ffn_up", "cp", "--remove-destination", between=True)
        assert not self.attempt({}, "cp", "/etc/hostname", self.path(self.organ("4_ffn_gate")))


def main():
    faults = Faults(*sys.argv[1:4])
    try:
        faults.sequence()
    except OSError as error:
        if error.errno not in (errno.ENOTCONN, errno.ECONNABORTED):
            raise
        print(error)
        sys.exit(3)


if __name__ == "__main__":
    main()

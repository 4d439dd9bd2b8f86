#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""faults_metadata.py - a fixed sequence of edits of metadata on a mount whose disk may fail.
Confirmed edits must show, and refused ones must have changed nothing.

    faults_metadata.py MOUNT STATE [--check]

STATE is a file with the values that the keys may have after the current edit. --check compares a
mount with it. Exits 0 after the last edit, 3 if the daemon has died, and 1 if the mount shows
something else.
"""
import errno
import json
import os
import subprocess
import sys
import time

SECONDS = 20


def shown(mount):
    """Type and text of every key."""
    directory, found = os.path.join(mount, "metadata"), {}
    for name in os.listdir(directory):
        path = os.path.join(directory, name)
        if name.endswith(".bak"):  # moved aside: no key
            continue
        with open(path, encoding="latin-1") as f:
            found[name] = [os.getxattr(path, "user.organfs.type").decode(), f.read()]
    return found


def settled(mount, expected):
    """Types and texts, once a refused value is gone, which may follow the refused close."""
    end = time.monotonic() + 5
    while True:
        try:
            now = shown(mount)
        except FileNotFoundError:
            now = None
        if now == expected or time.monotonic() > end:
            return now
        time.sleep(0.02)


class Faults:
    def __init__(self, mount, state):
        self.mount, self.state = mount, state
        self.expected = shown(mount)
        self.save([self.expected])

    def save(self, outcomes):
        with open(self.state + ".new", "w", encoding="ascii") as f:
            json.dump(outcomes, f)
        os.rename(self.state + ".new", self.state)

    def path(self, name):
        return os.path.join(self.mount, "metadata", name)

    def attempt(self, changes, *command):
        """Run a command that makes the changes (name to type and text, None for gone) or none."""
        outcome = {n: v for n, v in {**self.expected, **changes}.items() if v is not None}
        self.save([self.expected, outcome])
        done = subprocess.run(command, stderr=subprocess.PIPE, timeout=SECONDS, check=False)
        if done.returncode == 0:
            self.expected = outcome
        if settled(self.mount, self.expected) != self.expected:
            raise AssertionError(f"{command} ended with {done.returncode}: {done.stderr.decode()}")
        self.save([self.expected])
        return done.returncode == 0

    def write(self, name, text, kind=None):
        kind = kind or self.expected.get(name, ["string"])[0]
        return self.attempt({name: [kind, text + "\n"]}, "dd", f"of={self.path(name)}",
                            f"if={self.source(text)}", "status=none")

    def source(self, text):
        path = self.state + ".text"
        with open(path, "w", encoding="ascii") as f:
            f.write(text)
        return path

    def move(self, name, new):
        kind = self.expected.get(new, self.expected.get(name))[0]
        text = self.expected[name][1]
        return self.attempt({name: None, new: [kind, text]}, "mv", self.path(name), self.path(new))

    def retype(self, name, kind):
        if name in self.expected:
            self.attempt({name: [kind, self.expected[name][1]]}, "setfattr", "-n",
                         "user.organfs.type", "-v", kind, self.path(name))

    def remove(self, name):
        if name in self.expected:
            self.attempt({name: None}, "rm", self.path(name))

    def sequence(self):
        base = dict(self.expected)
        self.write("llama.context_length", "77")
        self.write("llama.context_length", "78")
        self.write("new.key", "5")
        self.retype("new.key", "uint8")
        self.retype("llama.context_length", "int64")
        self.remove("general.name")
        self.write("general.name", "again", "string")
        self.remove("llama.block_count")
        self.move("llama.embedding_length", "moved.length")
        self.move("llama.feed_forward_length", "llama.context_length")
        if "moved.length" in self.expected:
            self.move("moved.length", "new.other")
        self.remove("new.key")
        aside = self.path("aside.bak")
        if self.attempt({"llama.rope.dimension_count": None}, "mv",
                        self.path("llama.rope.dimension_count"), aside):
            self.attempt({"llama.rope.dimension_count": base["llama.rope.dimension_count"]},
                         "mv", aside, self.path("llama.rope.dimension_count"))
        for name in ("general.name", "llama.block_count"):
            self.attempt({name: base[name]}, "cp",
                         os.path.join(self.mount, ".base", "metadata", name), self.path(name))
        assert not self.attempt({}, "dd", f"if={self.source('junk')}", "status=none",
                                f"of={self.path('llama.attention.head_count')}")


def check(mount, state):
    with open(state, encoding="ascii") as f:
        outcomes = json.load(f)
    now = shown(mount)
    if now not in outcomes:
        wrong = {n for n in set(now) | set(outcomes[0]) if now.get(n) != outcomes[0].get(n)}
        sys.exit(f"the mount shows none of {len(outcomes)} outcomes; wrong: {sorted(wrong)}")


def main():
    if sys.argv[3:] == ["--check"]:
        check(*sys.argv[1:3])
        return
    try:
        Faults(*sys.argv[1:3]).sequence()
    except OSError as error:
        if error.errno not in (errno.ENOTCONN, errno.ECONNABORTED):
            raise
        print(error)
        sys.exit(3)


if __name__ == "__main__":
    main()

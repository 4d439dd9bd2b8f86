#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""edits.py - random edits of a mount, checked against the simplest model of them: a dictionary from
file names to bytes.

    edits.py MOUNT DONOR STATE SEED COUNT    edit; check everything now and then and at the end
    edits.py MOUNT DONOR STATE --check       check that the mount shows the content in STATE
    edits.py MOUNT DONOR STATE --restore     undo all: fill every slot again from .base

DONOR is a model whose organs fit, in a mount of its own or in the same one. STATE is a file with
the expected content, for checks by another run after a kill of the daemon. Every edit is written to
STATE before it begins, with its possible outcomes, and after its answer with the required one.
"""
import os
import pickle
import random
import re
import stat
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from gguf import Model, organ_header, Tensor  # noqa: E402

CLASSES = ("skeleton", "organs", "embed", "norm")
ROLES = ("ffn_up", "ffn_gate", "ffn_down")
ALIKE = ("ffn_up", "ffn_gate")  # of one shape


def read(path):
    with open(path, "rb") as f:
        return f.read()


def role_of(organ):
    """The role in the organ's own header, independent of its slot."""
    name = organ[4:4 + int.from_bytes(organ[:4], "little")].decode()
    return name.split(".")[2]


def is_link(path):
    """Errors of the mount are raised, unlike those of os.path.islink()."""
    try:
        return stat.S_ISLNK(os.lstat(path).st_mode)
    except FileNotFoundError:
        return False


def organs_of(mount):
    return {f"{c}/{name}": read(os.path.join(mount, c, name)) for c in CLASSES
            for name in os.listdir(os.path.join(mount, c)) if name.endswith(".bin")}


class Edits:
    def __init__(self, mount, donor, state):
        self.mount, self.donor, self.state = mount, donor, state
        self.blocks = len([n for n in os.listdir(self.path(".base/organs"))
                           if re.fullmatch(r"blk_\d+_ffn_up\.bin", n)])
        if os.path.exists(state):
            with open(state, "rb") as f:
                self.expected, self.maybe = pickle.load(f)
        else:
            self.expected, self.maybe = organs_of(mount), []

    def save(self, maybe=()):
        with open(self.state + ".new", "wb") as f:
            pickle.dump((self.expected, maybe), f)
        os.replace(self.state + ".new", self.state)

    def path(self, name):
        return os.path.join(self.mount, name)

    def run(self, outcome, target, *command):
        """The command must succeed and have that outcome, or with None fail and change nothing."""
        # A file that is made anew is gone in between.
        between = {n: b for n, b in self.expected.items()
                   if n != target and (outcome or {}).get(n) == b}
        self.save([outcome, between] if outcome is not None else [])
        done = subprocess.run(command, stderr=subprocess.PIPE, check=False)
        if not os.path.exists(self.path(".log")):
            raise ConnectionError("the mount is gone")
        if (done.returncode == 0) != (outcome is not None):
            if b"not connected" in done.stderr or b"connection abort" in done.stderr:
                raise ConnectionError("the daemon is gone")
            raise AssertionError(f"{command}: exit {done.returncode}, {done.stderr.decode()}")
        if outcome is not None:
            self.expected = outcome
        self.save()

    def slot(self, role, new=0.2):
        more = 4 if random.random() < new else 0
        return f"organs/blk_{random.randrange(self.blocks + more)}_{role}.bin"

    def donor_organ(self, role):
        return os.path.join(self.donor, f"organs/blk_{random.randrange(self.blocks)}_{role}.bin")

    def base_organ(self, role):
        return self.path(f".base/organs/blk_{random.randrange(self.blocks)}_{role}.bin")

    def step(self):
        role = random.choice(ROLES)
        target, now = self.slot(role), dict(self.expected)
        # A slot of the base takes an organ of another role; an added one is named after its organ,
        # again each time a tool removes it before it writes.
        of_base = int(target.split("_")[1]) < self.blocks
        if target in now and role in ALIKE and of_base:
            role = random.choice(ALIKE)
        there = [n for n in now if re.fullmatch(rf"organs/blk_\d+_{role}\.bin", n)
                 and (target in now and of_base or role_of(now[n]) == role)]
        source = random.choice(there) if there else None
        kind = random.choice(("copy", "copy", "link", "move", "remove", "junk", "in place", "within",
                              "symlink", "undo"))
        # A process that opens a link for writing writes to the link's target.
        through = is_link(self.path(target))
        if kind == "copy":
            donor = self.donor_organ(role)
            now[target] = read(donor)
            how = random.choice(([["cp"]] if not through else []) +
                                [["cp", "--remove-destination"], ["install"], ["cp", "-a"],
                                 ["rsync", "--ignore-times"]])
            if through and how == ["cp", "-a"]:
                how = ["cp", "-a", "--remove-destination"]
            self.run(now, target, *how, donor, self.path(target))
        elif kind == "symlink":
            place = self.base_organ(role) if random.random() < 0.3 else self.donor_organ(role)
            now[target] = read(place)
            self.run(now, target, "ln", "-sfn", place, self.path(target))
        elif kind == "undo":
            place = self.base_organ(role)
            target = "organs/" + os.path.basename(place)
            now[target] = read(place)
            self.run(now, target, "cp", *["--remove-destination"] *
                     is_link(self.path(target)), place, self.path(target))
        elif kind == "within" and source and source != target and not through:
            now[target] = now[source]
            self.run(now, target, "cp", self.path(source), self.path(target))
        elif kind == "link" and source and target not in now:
            now[target] = now[source]
            self.run(now, target, "ln", self.path(source), self.path(target))
        elif kind == "move" and source and source != target:
            now[target] = now.pop(source)
            self.run(now, target, "mv", self.path(source), self.path(target))
        elif kind == "remove" and source:
            del now[source]
            self.run(now, source, "rm", self.path(source))
        elif kind == "junk" and not through:
            self.run(None, target, "cp", "/etc/hostname", self.path(target))
        elif kind == "in place" and source and not is_link(self.path(source)):
            data = bytearray(now[source])
            at = random.randrange(len(data) - 1000, len(data))
            data[at] ^= 0x55
            now[source] = bytes(data)
            script = 'printf "%b" "$1" | dd of="$2" bs=1 seek="$3" conv=notrunc status=none'
            self.run(now, source, "sh", "-c", script, "sh", f"\\0{data[at]:03o}", self.path(source),
                     str(at))

    def check(self):
        shown = organs_of(self.mount)
        for one in (self.expected, *self.maybe):
            if shown == one:
                self.expected, self.maybe = one, []
                break
        else:
            wrong = sorted(n for n in set(shown) | set(self.expected)
                           if shown.get(n) != self.expected.get(n))
            raise AssertionError(f"the mount differs in {wrong}; "
                                 f"missing {sorted(set(self.expected) - set(shown))}")
        for c in CLASSES:
            names = os.listdir(os.path.join(self.mount, c))
            assert len(names) == len(set(names)), c
            assert {n for n in names if n.endswith(".theta")} == \
                {".theta"} | {n[:-3] + "theta" for n in names if n.endswith(".bin")}, names
            assert all(n.endswith((".bin", ".theta")) for n in names), names
        self.check_grafts()
        self.check_model()

    def check_grafts(self):
        """Each difference from the base is listed, and each listed organ exists or was removed."""
        base = organs_of(self.path(".base"))
        lines = [line.split("\t") for line in read(self.path(".grafts")).decode().splitlines()]
        kinds = {line[0]: line[1] for line in lines}
        assert len(kinds) == len(lines), lines
        differ = {n for n in set(base) | set(self.expected) if base.get(n) != self.expected.get(n)}
        assert differ <= set(kinds), differ - set(kinds)
        for name, kind in kinds.items():
            assert (kind == "removed") == (name not in self.expected), (name, kind)
            assert (kind == "link") == is_link(self.path(name)), (name, kind)
            assert kind in ("removed", "link", "copy", "reference"), (name, kind)

    def restore(self):
        base = organs_of(self.path(".base"))
        for name in self.expected:
            if name not in base or is_link(self.path(name)):
                os.unlink(self.path(name))
        for name in base:
            subprocess.run(["cp", self.path(".base/" + name), self.path(name)], check=True)
        self.expected, self.maybe = base, []
        assert read(self.path(".grafts")) == b"", read(self.path(".grafts"))

    def check_model(self):
        model = Model(os.path.join(self.mount, "model.gguf"))
        assert len(model.tensors) == len(self.expected), len(model.tensors)
        for t in model.tensors:
            name = t.name.decode().removesuffix(".weight").replace(".", "_") + ".bin"
            file = next(f for f in self.expected if f.endswith("/" + name))
            content = self.expected[file]
            header = len(organ_header(Tensor(content[4:4 + int.from_bytes(content[:4], "little")],
                                             t.ne, t.type, 0)))
            assert content[header:] == model.data(t), name


def main():
    edits = Edits(*sys.argv[1:4])
    if sys.argv[4] == "--check":
        edits.check()
        edits.save()
        return
    if sys.argv[4] == "--restore":
        edits.restore()
        edits.check()
        return
    random.seed(int(sys.argv[4]))
    for i in range(int(sys.argv[5])):
        try:
            edits.step()
        except (ConnectionError, OSError) as error:
            print(f"after {i} edits: {error}")
            sys.exit(3)
        if i % 50 == 49:
            edits.check()
    edits.check()


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""replay.py - power cuts at any moment of a session of edits, on a disk that keeps the flushed
data and any part of the rest. The next mount shows each confirmed change, and no half change.

    replay.py ORGANFS DISK BASE DONOR WORK private|named [COUNT]

DISK is the program organfs-disk, whose record of a session is replayed: for every prefix of the
record the layer's directory is made in a state that a disk may have then, and mounted. DONOR is a
directory with organ files that fit BASE, and style.gguf, an adapter. WORK is an empty directory.
The layer is the mount's private one, or a named one. COUNT states are checked, by default all.

A disk has each file or directory, independently, in a state between its last fsync() and now: now
("all"), then ("flushed") or a time in between ("some", "another").

A disk with a journal, such as ext4 and XFS, has all directories as they were at one time since the
last fsync() of anything. That time may be now while the files have only their flushed data
("renamed"), or any state since ("journal"), because data follow later. With data=ordered of ext4
the whole disk is as it was at that time ("ordered").

The session also assembles the model into out/model.gguf of that disk: that file has its old or its
new content, and the next assembly leaves nothing else there.
"""
import bisect
import concurrent.futures
import errno
import hashlib
import json
import os
import random
import shutil
import stat
import subprocess
import sys
import threading
import time

SECONDS = 60
VARIANTS = ("all", "flushed", "some", "another", "renamed", "journal", "ordered")


def wait_for(condition, what):
    end = time.monotonic() + SECONDS
    while not condition():
        if time.monotonic() > end:
            raise AssertionError(f"{what}: not after {SECONDS} s")
        time.sleep(0.005)


def hash_of(path):
    """Bytes of a file; empty if there is none."""
    if not os.path.exists(path):
        return ""
    with open(path, "rb") as f:
        return hashlib.sha256(f.read()).hexdigest()


class Mount:
    """A daemon with its mount."""

    def __init__(self, organfs, base, place, layers, kind):
        os.makedirs(place, exist_ok=True)
        self.place = place
        self.said = os.path.join(os.environ["LOGS"], "replay." + os.path.basename(place))
        options = "noassemble" if kind == "private" else f"noassemble,layer={layers}/a/layer"
        with open(self.said, "ab") as said:
            self.daemon = subprocess.Popen(
                [organfs, "-f", "-o", options, base, place], stdin=subprocess.DEVNULL,
                stdout=said, stderr=said, env={**os.environ, "XDG_STATE_HOME": layers + "/state"})
        wait_for(lambda: os.path.ismount(place) or self.daemon.poll() is not None, "mount")
        if not os.path.ismount(place):
            with open(self.said, encoding="utf-8", errors="replace") as said:
                raise AssertionError(f"not mounted: {said.read()[-500:]}")

    def path(self, name):
        return os.path.join(self.place, name)

    def text(self, name):
        with open(self.path(name), encoding="latin-1") as f:
            return f.read()

    def shown(self):
        """The model's hash, and its grafts without their times."""
        model = hash_of(self.path("model.gguf"))
        lines = [line.split("\t") for line in self.text(".grafts").splitlines()]
        return (model, "\n".join(sorted("\t".join(f[:6] + f[7:]) for f in lines)))

    def shown_if_there(self):
        """Run f; None if the daemon has ended, before, during or after its answer."""
        try:
            return self.shown()
        except OSError as e:
            if e.errno not in (errno.ENOTCONN, errno.ECONNABORTED):
                raise
            return None

    def shows(self, allowed):
        """Is the shown state one of these?"""
        return list(self.shown()) in [list(state) for state in allowed]

    def assemble(self, target):
        with open(self.path(".assemble"), "w", encoding="utf-8") as f:
            f.write("!" + target)  # "!": replace an existing file

    def kill(self):
        self.daemon.kill()
        self.daemon.wait()
        subprocess.run(["fusermount3", "-uz", self.place], check=True)


class Session:
    """A session of edits, with marks in the record at the begin of each and of its later state."""

    def __init__(self, arguments):
        self.organfs, disk, self.base, self.donor, self.work, self.kind = arguments
        self.disk, self.record = self.work + "/disk", self.work + "/record"
        self.control = self.work + "/control"
        os.makedirs(self.disk)
        os.makedirs(self.work + "/back")
        self.server = subprocess.Popen([disk, "-r", self.record, "-c", self.control,
                                        self.work + "/back", self.disk])
        wait_for(lambda: os.path.ismount(self.disk), "disk")
        os.mkdir(self.disk + "/out")
        root = os.open(self.disk, os.O_RDONLY)
        os.fsync(root)
        os.close(root)
        self.mount = None
        self.states, self.targets = [], [""]
        self.again()
        self.mark("ended")

    def again(self):
        if self.mount:
            self.mount.kill()
        self.mount = Mount(self.organfs, self.base, self.work + "/session", self.disk, self.kind)
        self.states.append(self.mount.shown())

    def mark(self, what, *more, targets=()):
        """Write a mark. From here on the last state and those in more are allowed; for the
        assembled file its current contents, or one of targets."""
        text = json.dumps([what, [self.states[-1], *more], [*self.targets, *targets]]).encode()
        with open(self.record, "ab", buffering=0) as f:
            f.write(b"mark\t%d\n%s" % (len(text), text))

    def set_control(self, text):
        with open(self.control + ".new", "w", encoding="ascii") as f:
            f.write(text)
        os.rename(self.control + ".new", self.control)

    def path(self, name):
        return self.mount.path(name)

    def run(self, *command):
        return subprocess.run(command, stderr=subprocess.PIPE, timeout=SECONDS, check=False)

    def do(self, *command, outcome=None):
        """Run a command that succeeds in one step. Its later state is unknown before, so the mark
        at its end corrects the record."""
        self.mark("began")
        done = self.run(*command)
        assert done.returncode == 0, (command, done.stderr, self.mount.text(".log"))
        self.states.append(self.mount.shown())
        assert outcome in (None, self.states[-1]), (command, self.states[-1], outcome)
        self.mark("ended")

    def remove(self, name):
        self.mark("began")
        os.unlink(self.path(name))
        self.states.append(self.mount.shown())
        self.mark("ended")

    def refused(self, *command):
        done = self.run(*command)
        assert done.returncode != 0, command
        assert self.mount.shown() == self.states[-1], command

    def assemble(self):
        self.mark("began")
        self.mount.assemble(self.disk + "/out/model.gguf")
        self.targets = [hash_of(self.disk + "/out/model.gguf")]
        assert self.targets == [self.states[-1][0]], self.mount.text(".assemble")
        self.mark("ended")

    def write(self, name, text):
        self.do("sh", "-c", 'printf %s "$1" > "$2"', "sh", text, self.path(name))

    def cut(self, outcome, after, *command, target=None):
        """Kill the daemon at a later change of the disk, by its number, and mount again. Returns
        False if the call ended first. target: the new content of the assembled file."""
        before = self.states[-1]
        targets = [target] if target else []
        self.mark("began", outcome, targets=targets)
        self.set_control(f"change kill {after}\n")
        done = self.run(*command)
        self.set_control("")
        shown = self.mount.shown_if_there() if done.returncode == 0 else None
        if shown:
            self.states.append(shown)
            assert shown == outcome, command
            self.targets = targets or self.targets
            self.mark("ended")
            return False
        self.again()
        assert self.states[-1] in (before, outcome), (command, after)
        found = hash_of(self.disk + "/out/model.gguf")
        assert found in (*self.targets, target), (command, after)
        # The name may be unflushed.
        if found == target:
            self.targets.append(found)
        self.mark("ended")
        return True

    def edits(self):
        path, donor = self.path, self.donor
        self.do("cp", f"{donor}/blk_0_ffn_up.bin", path("organs/blk_0_ffn_up.bin"))
        self.do("cp", f"{donor}/blk_2_ffn_up.bin", path("organs/blk_1_ffn_up.bin"))
        self.do("cp", f"{donor}/token_embd.bin", path("embed/token_embd.bin"))
        self.do("cp", f"{donor}/shrinks.bin", path("embed/token_embd.bin"))
        self.remove("norm/blk_2_attn_norm.bin")
        self.do("cp", f"{donor}/blk_1_ffn_up.bin", path("organs/blk_5_ffn_up.bin"))
        self.refused("cp", "/etc/hostname", path("organs/blk_2_ffn_up.bin"))
        self.do("mv", path("organs/blk_0_ffn_up.bin"), path("organs/blk_1_ffn_up.bin"))
        self.remove("skeleton/blk_3_attn_q.bin")
        self.do("ln", path("skeleton/blk_2_attn_q.bin"), path("skeleton/blk_3_attn_q.bin"))
        self.do("ln", path("organs/blk_1_ffn_up.bin"), path("organs/blk_0_ffn_up.bin"))
        self.do("ln", "-s", f"{donor}/blk_2_attn_norm.bin", path("norm/blk_2_attn_norm.bin"))
        self.do("ln", "-s", f"{donor}/style.gguf", path("adapters/style.gguf"))
        self.write("adapters/style.scale", "0.5")
        self.do("sh", "-c", 'printf x | dd of="$1" bs=1 seek=20000 conv=notrunc status=none', "sh",
                path("organs/blk_4_ffn_up.bin"))
        self.write("metadata/general.name", "other")
        self.write("metadata/new.key", "5")
        self.do("setfattr", "-n", "user.organfs.type", "-v", "uint8", path("metadata/new.key"))
        self.do("rm", path("metadata/llama.rope.dimension_count"))
        self.do("mv", path("metadata/new.key"), path("metadata/newer.key"))
        self.do("cp", f"{donor}/blk_2_ffn_up.bin", path("organs/.blk_2.part"))
        self.do("mv", path("organs/.blk_2.part"), path("organs/blk_2_ffn_up.bin"))
        self.do("cp", f"{donor}/blk_1_ffn_up.bin", path("organs/blk_2_ffn_up.bin"))
        self.write(".undo", "organs/blk_4_ffn_up.bin\nmetadata/newer.key\n")
        self.do("cp", path(".base/organs/blk_2_ffn_up.bin"), path("organs/blk_2_ffn_up.bin"))

    def session(self):
        self.edits()
        self.assemble()
        full = self.states[-1]
        recipe = self.work + "/recipe.yml"
        shutil.copy(self.path(".recipe"), recipe)
        self.write(".undo", "all\n")
        empty = self.states[-1]
        self.do("cp", recipe, self.path(".recipe"))
        full = self.states[-1]
        self.again()
        assert self.states[-1] == full
        self.cut(empty, 3, "sh", "-c", 'echo all > "$1"', "sh", self.path(".undo"))
        if self.states[-1] == full:
            self.write(".undo", "all\n")
        for after in (2, 9, 20, 40, 60):
            if not self.cut(full, after, "cp", recipe, self.path(".recipe")):
                break
            if self.states[-1] == full:
                self.write(".undo", "all\n")
        self.do("cp", f"{self.donor}/blk_0_ffn_up.bin", self.path("organs/blk_0_ffn_up.bin"))
        # A move, each step of which may be the last one.
        source, target = self.path("organs/blk_0_ffn_up.bin"), self.path("organs/blk_1_ffn_up.bin")
        before = self.states[-1]
        self.do("mv", source, target)
        moved = self.states[-1]
        for after in (1, 2, 4, 6, 8):
            if self.states[-1] == moved:
                self.write(".undo", "all\n")
                self.do("cp", f"{self.donor}/blk_0_ffn_up.bin", source, outcome=before)
            self.cut(moved, after, "mv", source, target)
        # A graft of the other model, each step of which may be the last one.
        for after in (1, 2, 4, 6, 8, 10, 12, 14):
            if not self.cut(self.states[-1], after, "sh", "-c", 'echo "$1" >"$2"', "sh",
                            self.disk + "/out/model.gguf", self.path(".assemble"),
                            target=self.states[-1][0]):
                break
        self.assemble()
        self.mount.kill()
        subprocess.run(["fusermount3", "-u", self.disk], check=True)
        self.server.wait()


class Inode:
    """States of an inode, each with the number of its operation, and the times of flushes."""

    def __init__(self, kind, k, content):
        self.kind = kind
        self.times, self.states, self.flushed = [k], [(content, None)], [k]

    def change(self, k, content=None, attributes=None):
        was = self.states[-1]
        self.times.append(k)
        self.states.append((was[0] if content is None else content, attributes or was[1]))

    @property
    def content(self):
        return self.states[-1][0]

    def at(self, k):
        return self.states[max(bisect.bisect_right(self.times, k) - 1, 0)]

    def flushed_at(self, k):
        return self.flushed[max(bisect.bisect_right(self.flushed, k) - 1, 0)]


class Record:
    """A session's record: the states of every inode, and the allowed outcomes by time."""

    def __init__(self, path):
        self.inodes, self.root, self.marks, self.n = {}, None, [], 0
        self.flushed = [0]
        self.hashes = {}
        with open(path, "rb") as f:
            for line in f:
                fields = line.decode().rstrip("\n").split("\t")
                data = f.read(int(fields[-1]))
                if fields[0] == "mark":
                    self.marks.append((self.n, json.loads(data)))
                else:
                    self.n += 1
                    self.apply(fields[0], fields[1:-1], data)
        self.allow()

    def inode(self, number):
        if self.root is None:
            # The first request names a file in the root.
            self.root = self.inodes[number] = Inode(stat.S_IFDIR, 0, {})
        return self.inodes[number]

    def entry(self, directory, name, inode):
        """Set a directory's entry to an inode, or remove the entry if the inode is None."""
        entries = dict(directory.content)
        entries.pop(name, None)
        if inode is not None:
            entries[name] = inode
        directory.change(self.n, entries)

    def apply(self, what, fields, data):
        k, inode = self.n, self.inode(int(fields[0]))
        if what == "make":
            kind, (name, _, target) = int(fields[2]), data.partition(b"\0")
            new = self.inodes[int(fields[1])] = Inode(
                kind, k, {} if kind == stat.S_IFDIR else target)
            self.entry(inode, name, new)
        elif what == "link":
            self.entry(inode, data, self.inodes[int(fields[1])])
        elif what == "unlink":
            self.entry(inode, data, None)
        elif what == "rename":
            old, new = data.split(b"\0")
            target, exchanges = self.inodes[int(fields[1])], int(fields[2]) & 2
            moved, there = inode.content[old], target.content.get(new)
            self.entry(inode, old, there if exchanges else None)
            self.entry(target, new, moved)
        elif what == "write":
            at, was = int(fields[1]), inode.content
            was = was.ljust(at, b"\0")
            inode.change(k, was[:at] + data + was[at + len(data):])
        elif what == "size":
            size = int(fields[1])
            inode.change(k, inode.content[:size].ljust(size, b"\0"))
        elif what == "attr":
            inode.change(k, None, tuple(fields[1:]))
        elif what == "sync":
            inode.flushed.append(k)
            self.flushed.append(k)
        else:
            raise AssertionError(what)

    def allow(self):
        """Fill allowed[k] and targets[k]: the states, and those of the assembled file, that are
        allowed after k operations."""
        self.allowed = self.allowed_of([(at, what, {tuple(s) for s in states})
                                        for at, (what, states, _) in self.marks])
        self.targets = self.allowed_of([(at, what, set(targets))
                                        for at, (what, _, targets) in self.marks])

    def allowed_of(self, marks):
        """States allowed after each operation; from a command's begin also its later state."""
        allowed = [set() for _ in range(self.n + 1)]
        for i, (at, began, states) in enumerate(marks):
            end, later = self.n, set()
            if i + 1 < len(marks):
                end, what, later = marks[i + 1]
                later = later if what == "ended" else set()
            # A mark lies between two operations, so both ends of the range are included.
            for k in range(at, end + 1):
                allowed[k] |= states
                if began == "began":
                    allowed[k] |= later
        # A command has ended at the operation of its end mark.
        for at, what, states in marks:
            if what == "ended":
                allowed[at] = set(states)
            else:
                allowed[at] |= states
        return allowed

    def hash_of(self, content):
        """Hash of a content, cached by id(): the record keeps every content."""
        if id(content) not in self.hashes:
            self.hashes[id(content)] = hashlib.sha256(content).digest()
        return self.hashes[id(content)]

    def flushed_at(self, k):
        """Time of the last flush of anything."""
        return self.flushed[bisect.bisect_right(self.flushed, k) - 1]


class Disk:
    """Content of the disk after k operations."""

    def __init__(self, record, k, variant):
        self.record, self.k, self.variant = record, k, variant
        self.random = random.Random(f"{k} {variant}")
        self.time = self.random.randint(record.flushed_at(k), k)  # time of the journal
        self.chosen = {}
        self.digest = hashlib.sha256()
        self.look(record.root, "")

    def time_of(self, inode):
        flushed, now = inode.flushed_at(self.k), self.k
        if self.variant in ("all", "flushed"):
            return now if self.variant == "all" else flushed
        if self.variant == "ordered" or (self.variant == "journal" and inode.kind == stat.S_IFDIR):
            return self.time
        if self.variant == "renamed":
            return now if inode.kind == stat.S_IFDIR else flushed
        return self.random.randint(flushed, now)

    def state(self, inode):
        if inode not in self.chosen:
            self.chosen[inode] = inode.at(self.time_of(inode))
        return self.chosen[inode]

    def look(self, inode, path):
        content, _ = self.state(inode)
        self.digest.update(f"{path}\0{inode.kind}\0".encode())
        if inode.kind == stat.S_IFDIR:
            for name in sorted(content):
                self.look(content[name], f"{path}/{name.decode()}")
        else:
            self.digest.update(self.record.hash_of(content))

    def make(self, inode, path):
        content, attributes = self.state(inode)
        if inode.kind == stat.S_IFDIR:
            os.makedirs(path, exist_ok=True)
            for name, entry in content.items():
                self.make(entry, os.path.join(path, name.decode()))
        elif inode.kind == stat.S_IFLNK:
            os.symlink(content, path)
        else:
            with open(path, "wb") as f:
                f.write(content)
        if attributes and inode.kind != stat.S_IFLNK:
            os.chmod(path, int(attributes[0]) & 0o7777)
            os.utime(path, times=(0, float(attributes[3])))


class Check:
    def __init__(self, arguments, record):
        self.organfs, _, self.base, _, self.work, self.kind = arguments
        self.record = record
        self.local = threading.local()
        self.counter = iter(range(1000))

    def place(self):
        if not hasattr(self.local, "place"):
            self.local.place = f"{self.work}/cut{next(self.counter)}"
        return self.local.place

    def check_target(self, mount, directory, targets):
        """Check a state; with targets None assemble again."""
        target = directory + "/model.gguf"
        if targets is None:
            mount.assemble(target)
            if hash_of(target) != mount.shown()[0] or os.listdir(directory) != ["model.gguf"]:
                raise AssertionError(f"assembled: {os.listdir(directory)}, {mount.text('.log')}")
        elif hash_of(target) not in targets:
            raise AssertionError(f"the assembled file is {hash_of(target)}, not of {targets}")

    def check(self, todo):
        disk, allowed, targets = todo
        place = self.place()
        shutil.rmtree(place + ".disk", ignore_errors=True)
        disk.make(self.record.root, place + ".disk")
        shutil.copytree(place + ".disk", place + ".was", symlinks=True, dirs_exist_ok=True)
        try:
            for again in range(2):
                mount = Mount(self.organfs, self.base, place, place + ".disk", self.kind)
                try:
                    if not mount.shows(allowed):
                        raise AssertionError("\n".join(
                            ["shows", *mount.shown(), "allowed",
                             *(text for state in sorted(allowed) for text in state),
                             mount.text(".log")]))
                    self.check_target(mount, place + ".disk/out", targets if not again else None)
                finally:
                    mount.kill()
        except (AssertionError, OSError) as error:
            kept = f"{os.environ['LOGS']}/{disk.k}.{disk.variant}"
            shutil.copytree(place + ".was", kept, symlinks=True, dirs_exist_ok=True)
            return f"after {disk.k} operations, {disk.variant}: {error}"
        finally:
            shutil.rmtree(place + ".was")
        return None


def states_of(record):
    """Distinct pairs of a disk content and the states allowed for it."""
    found = {}
    # Nothing is allowed yet before the first mark.
    for k in range(record.marks[0][0], record.n + 1):
        for variant in VARIANTS:
            disk = Disk(record, k, variant)
            key = (disk.digest.digest(), frozenset(record.allowed[k]),
                   frozenset(record.targets[k]))
            found.setdefault(key, (disk, record.allowed[k], record.targets[k]))
    return list(found.values())


def main():
    arguments = sys.argv[1:7]
    session = Session(arguments)
    session.session()
    record = Record(session.record)
    states = states_of(record)
    todo = states
    if len(sys.argv) > 7:
        chooser = random.Random(os.environ.get("SEED", "1"))
        todo = chooser.sample(states, min(int(sys.argv[7]), len(states)))
    check = Check(arguments, record)
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        wrong = [said for said in pool.map(check.check, todo) if said]
    print(f"{len(todo)} of {len(states)} states after {record.n} operations, {len(wrong)} wrong")
    if wrong:
        shutil.copy(session.record, os.environ["LOGS"])
        sys.exit("\n".join(wrong[:20]))


if __name__ == "__main__":
    main()

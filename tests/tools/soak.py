#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""soak.py MNT PID SECONDS DIR [URL] - all operations at once on a writable mount, for that time.

Threads read, graft, remove, rename, link, undo, assemble, list, read xattrs and edit metadata;
with URL, the address of organ-serve, also over HTTP. Meanwhile a line "SECOND KiB DESCRIPTORS
THREADS INODES" on standard output samples the daemon, which is process PID; INODES is the number
of inodes of all FUSE filesystems in the kernel, each of which the daemon has too, or 0 if the
kernel does not tell. Standard error has the counts of operations. DIR is for assembled models. The
exit status is 1 if a call fails with an error that concurrent operations do not explain, or if a
thread did nothing."""
import collections
import errno
import http.client
import mmap
import os
import random
import sys
import threading
import time
import urllib.parse

CLASSES = ("organs", "skeleton", "norm", "embed")
# Errors that concurrent operations cause: a slot is empty, is filled and emptied, or is a link to
# a read-only file of .base; another thread, which has the file for an empty slot open too, has put
# it in force.
EXPECTED = {errno.ENOENT, errno.EEXIST, errno.EINVAL, errno.ENODATA, errno.EACCES, errno.ESTALE}
# The kernel's error for a second name of a file that another thread is making.
ALSO = {"graft_link": {errno.EPERM}}


class Soak:
    def __init__(self, mnt, out, url):
        self.mnt = mnt
        self.out = out
        self.url = url
        self.names = [f"{c}/{f}" for c in CLASSES for f in sorted(os.listdir(f"{mnt}/{c}"))
                      if f.endswith(".bin")]
        self.content = {name: self.read(name) for name in self.names}
        self.stop = threading.Event()
        self.done = collections.Counter()
        self.failed = collections.Counter()
        self.wrong = []

    def read(self, name):
        with open(f"{self.mnt}/{name}", "rb", buffering=0) as file:
            return file.readall()

    def write(self, name, content):
        with open(f"{self.mnt}/{name}", "wb", buffering=0) as file:
            file.write(content)

    # ## operations that the threads repeat

    def graft(self, chance):
        name = chance.choice(self.names)
        content = bytearray(self.content[name])
        content[-chance.randrange(1, 64)] ^= chance.randrange(1, 256)
        self.write(name, content)

    def graft_within(self, chance):
        name = chance.choice(self.names)
        content = self.content[name]
        with open(f"{self.mnt}/{name}", "r+b", buffering=0) as file:
            file.seek(len(content) - chance.randrange(1, 64))
            file.write(b"x")

    def graft_by_name(self, chance):
        name = chance.choice(self.names)
        scratch = f"{self.mnt}/{os.path.dirname(name)}/.{chance.randrange(1000)}.tmp"
        with open(scratch, "wb", buffering=0) as file:
            file.write(self.content[name])
        os.rename(scratch, f"{self.mnt}/{name}")

    def graft_link(self, chance):
        name, other = chance.sample(self.names, 2)
        os.unlink(f"{self.mnt}/{name}")
        if chance.random() < 0.5:
            os.link(f"{self.mnt}/{other}", f"{self.mnt}/{name}")
        else:
            os.symlink(f"{self.mnt}/.base/{name}", f"{self.mnt}/{name}")

    def graft_junk(self, chance):
        self.write(chance.choice(self.names), b"junk")

    def remove(self, chance):
        os.unlink(f"{self.mnt}/{chance.choice(self.names)}")

    def undo(self, chance):
        word = chance.choice(["organs", "norm", "metadata", chance.choice(self.names), "all"])
        self.write(".undo", word.encode() + b"\n")

    def metadata(self, chance):
        key = f"{self.mnt}/metadata/soak.{chance.randrange(20)}"
        if chance.random() < 0.3:
            os.unlink(key)
        else:
            with open(key, "w", encoding="ascii") as file:
                file.write("x" * chance.randrange(1, 500))

    def assemble(self, chance):
        try:
            self.write(".assemble", f"{self.out}/{chance.randrange(2)}.gguf".encode())
        except OSError:
            self.write(".undo", b"all\n")  # a link to nowhere, or a tensor that is gone
            raise
        finally:
            time.sleep(0.2)

    def read_organs(self, chance):
        self.read(chance.choice(self.names))

    # (A slot may still be empty when it is filled for the first time.)
    def map_organs(self, chance):
        with open(f"{self.mnt}/.base/{chance.choice(self.names)}", "rb") as file:
            with mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ) as content:
                content[len(content) - 1]

    def read_model(self, chance):
        with open(f"{self.mnt}/model.gguf", "rb") as file:
            file.seek(chance.randrange(1 << 20))
            file.read(chance.randrange(1 << 18))

    def read_theta(self, chance):
        self.read(chance.choice(self.names)[:-4] + ".theta")
        self.read(chance.choice([f"{c}/.theta" for c in CLASSES] + [".theta"]))

    def read_reports(self, chance):
        self.read(chance.choice(["manifest.json", "theta.svg", "checksums.xxh128", ".grafts",
                                 ".check", ".log", ".undo", ".recipe", ".report.json"]))

    def read_views(self, chance):
        stem = chance.choice(self.names)[:-4]
        self.read(chance.choice([f".views/npy/{stem}.npy", f".views/spectral/{stem}.bin",
                                 f".base/{stem}.bin"]))

    def list(self, chance):
        for where, _, files in os.walk(self.mnt):
            for file in files:
                try:
                    os.lstat(f"{where}/{file}")
                except FileNotFoundError:
                    pass

    def xattrs(self, chance):
        path = f"{self.mnt}/{chance.choice(self.names)}"
        for name in os.listxattr(path) + ["user.organfs.theta", "user.organfs.xxh128"]:
            os.getxattr(path, name)

    def page(self, chance):
        if not self.url:
            time.sleep(1)
            return
        server = http.client.HTTPConnection(urllib.parse.urlsplit(self.url).netloc, timeout=100)
        name = chance.choice(self.names)
        method, path, body = chance.choice([
            ("GET", "/", None), ("GET", f"/{name}", None), ("GET", "/.grafts", None),
            ("PROPFIND", "/organs/", None), ("GET", "/health", None),
            ("PUT", f"/{name}", self.content[name])])
        server.request(method, path, body)
        answer = server.getresponse()
        answer.read()
        server.close()
        if answer.status >= 500 and answer.status != 503:
            raise ValueError(f"{method} {path} is answered with {answer.status}")

    # ## the whole run

    def again(self, act, number):
        chance = random.Random(number)
        while not self.stop.is_set():
            try:
                act(chance)
                self.done[act.__name__] += 1
            except OSError as err:
                self.failed[act.__name__] += 1
                if err.errno not in EXPECTED | ALSO.get(act.__name__, set()):
                    self.wrong.append(f"{act.__name__}: {err}")
                    time.sleep(0.1)
            except ValueError as err:
                self.wrong.append(str(err))

    def run(self, pid, seconds):
        acts = [self.graft, self.graft_within, self.graft_by_name, self.graft_link,
                self.graft_junk, self.remove, self.undo, self.metadata, self.assemble,
                self.read_organs, self.map_organs, self.read_model, self.read_theta, self.read_reports,
                self.read_views, self.list, self.xattrs, self.page]
        threads = [threading.Thread(target=self.again, args=pair, daemon=True)
                   for pair in zip(acts, range(len(acts)))]
        for thread in threads:
            thread.start()
        began = time.monotonic()
        while time.monotonic() < began + seconds:
            time.sleep(min(0.5, seconds / 40))
            print(f"{time.monotonic() - began:.1f}", *sample(pid), flush=True)
        self.stop.set()
        for thread in threads:
            thread.join(120)
        for act in acts:
            name = act.__name__
            print(f"{name}: {self.done[name]} done, {self.failed[name]} refused", file=sys.stderr)
            if not self.done[name]:
                self.wrong.append(f"{name} was never done")
        for line in self.wrong[:10]:
            print(f"wrong: {line}", file=sys.stderr)
        return 1 if self.wrong or any(thread.is_alive() for thread in threads) else 0


def sample(pid):
    with open(f"/proc/{pid}/status", encoding="utf-8") as file:
        status = dict(line.split(":", 1) for line in file)
    return (int(status["RssAnon"].split()[0]), len(os.listdir(f"/proc/{pid}/fd")),
            int(status["Threads"]), inodes())


def inodes():
    try:
        with open("/proc/slabinfo", encoding="utf-8") as file:
            return next((int(line.split()[1]) for line in file if line.startswith("fuse_inode ")), 0)
    except PermissionError:
        return 0


if __name__ == "__main__":
    soak = Soak(sys.argv[1], sys.argv[4], sys.argv[5] if len(sys.argv) > 5 else None)
    sys.exit(soak.run(sys.argv[2], float(sys.argv[3])))

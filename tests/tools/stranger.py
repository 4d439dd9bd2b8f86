#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# stranger.py MOUNTPOINT UID SECRET OWNERS - every kind of change, tried as that user in a mount
# whose mode bits allow nearly all. Prints an empty line for each change that fails with EPERM, or
# by mode bits that refuse it to everyone, and else a line with the outcome. SECRET is an organ
# that only the daemon's user may read, OWNERS a file that only that user may write. For root.
import errno
import os
import sys

mnt, uid, secret, owners = sys.argv[1], int(sys.argv[2]), sys.argv[3], sys.argv[4]
# The daemon's user made these before: $MNT/organs/.scratch, adapters/style.gguf,
# .diff/link.gguf and .merge.
WRITABLE = [
    "organs/blk_0_ffn_up.bin", "organs/blk_0_ffn_up.theta", "organs/.theta", "organs/.scratch",
    "model.gguf", "header.gguf", "manifest.json", "theta.svg", "checksums.xxh128", ".theta",
    ".table", ".report.json", ".check", ".grafts", ".log", ".assemble", ".undo", ".recipe",
    ".merge", "metadata/general.name", "metadata/general.architecture", "adapters/style.scale",
    ".base/organs/blk_0_ffn_up.bin", ".base/metadata/general.name",
    ".views/npy/organs/blk_0_ffn_up.npy", ".views/npy/organs/blk_1_ffn_up.npy",
    ".views/fractal/organs/blk_0_ffn_up.bin", ".diff/base", ".diff/base.tsv", ".diff/link.tsv",
]


def control(name, words):
    """Write bytes to a file that obeys words."""
    fd = os.open(name, os.O_WRONLY)
    try:
        os.write(fd, words)
    finally:
        os.close(fd)


def attempts():
    """Pairs of an attempt's name and its function."""
    for name in WRITABLE:
        for flags, word in ((os.O_WRONLY, "write"), (os.O_RDWR, "read and write"),
                            (os.O_WRONLY | os.O_TRUNC, "empty"), (os.O_RDONLY | os.O_TRUNC, "cut")):
            yield f"{word} {name}", lambda n=name, f=flags: os.close(os.open(n, f))
        yield f"truncate {name}", lambda n=name: os.truncate(n, 3)
        yield f"chmod {name}", lambda n=name: os.chmod(n, 0o600)
        yield f"utime {name}", lambda n=name: os.utime(n, (1, 1))
        yield f"touch {name}", lambda n=name: os.utime(n)
        yield f"setxattr {name}", lambda n=name: os.setxattr(n, "user.organfs.type", b"uint32")
        yield f"removexattr {name}", lambda n=name: os.removexattr(n, "user.organfs.type")
    for where in ("", "organs/", "metadata/", "adapters/", ".base/organs/", ".views/npy/organs/",
                  ".diff/"):
        yield f"create in {where}", lambda w=where: os.close(os.open(w + "new", os.O_CREAT))
        yield f"mknod in {where}", lambda w=where: os.mknod(w + "new")
        yield f"mkdir in {where}", lambda w=where: os.mkdir(w + "new")
        yield f"symlink in {where}", lambda w=where: os.symlink(secret, w + "new")
    slot = "organs/blk_1_ffn_up.bin"
    yield "a slot", lambda: os.close(os.open("organs/blk_9_ffn_up.bin", os.O_CREAT | os.O_WRONLY))
    yield "a link to a secret", lambda: os.symlink(secret, "organs/blk_9_ffn_up.bin")
    yield "an adapter", lambda: os.symlink(secret, "adapters/new.gguf")
    yield "link of a new name", lambda: os.link(slot, "organs/blk_9_ffn_up.bin")
    yield "rename", lambda: os.rename(slot, "organs/blk_2_ffn_up.bin")
    yield "rename aside", lambda: os.rename(slot, "organs/old~")
    yield "unlink", lambda: os.unlink(slot)
    yield "unlink an adapter", lambda: os.unlink("adapters/style.gguf")
    yield "another link to compare with", lambda: os.symlink(owners, ".diff/new.gguf")
    yield "unlink a link to compare with", lambda: os.unlink(".diff/link.gguf")
    yield "rename a link to compare with", lambda: os.rename(".diff/link.gguf", ".diff/new.gguf")
    yield "unlink a key", lambda: os.unlink("metadata/general.name")
    yield "unlink a scratch file", lambda: os.unlink("organs/.scratch")
    yield "rmdir", lambda: os.rmdir("norm")
    yield "times of a directory", lambda: os.utime("organs", (1, 1))
    yield "attribute of a directory", lambda: os.setxattr("organs", "user.organfs.type", b"uint32")
    yield "assemble", lambda: control(".assemble", os.fsencode(owners))
    yield "undo", lambda: control(".undo", b"all\n")
    yield "recipe", lambda: control(".recipe", b"recipe: 1\n")
    yield "merge", lambda: control(".merge", b"merge_method: linear\n")
    yield "unlink a merge", lambda: os.unlink(".merge")


FIXED = (".base/", ".views/fractal/", " in .views/npy/", ".diff/base", ".diff/link.tsv")


def outcome(what, attempt):
    """Empty if the attempt is refused, else the outcome."""
    try:
        attempt()
    except OSError as error:
        fixed = error.errno == errno.EACCES and any(name in what for name in FIXED)
        return "" if fixed or error.errno == errno.EPERM else os.strerror(error.errno)
    return "done"


os.chdir(mnt)
os.setgroups([])
os.setresgid(uid, uid, uid)
os.setresuid(uid, uid, uid)
for what, attempt in attempts():
    said = outcome(what, attempt)
    print(f"{what}: {said}" if said else "")

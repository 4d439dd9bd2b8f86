#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Check each file operation in a mount against the table in organfs.5, in its order.

    semantics.py MOUNT DONOR DIRECTORY

MOUNT is a mount of scribe with noassemble, DONOR a read-only mount of clerk, DIRECTORY a writable
directory on a disk. Prints each difference; the exit status is 1 then. At the end there are grafts
of every kind, each by an operation that has just succeeded."""
import ctypes
import errno
import fcntl
import mmap
import os
import signal
import struct
import sys

mount, donor, directory = sys.argv[1:]
ORGANS = f"{mount}/organs"
wrong = 0
libc = ctypes.CDLL(None, use_errno=True)


def slot(number, part="up"):
    return f"{ORGANS}/blk_{number}_ffn_{part}.bin"


def content(path):
    with open(path, "rb") as file:
        return file.read()


def outcome(act):
    """Result of the call, or the name of its error."""
    try:
        return act()
    except OSError as error:
        return errno.errorcode[error.errno]


def check(what, expected, act):
    global wrong
    got = outcome(act)
    if got != expected:
        wrong += 1
        print(f"{what}: {got!r}, not {expected!r}")


def opened(path, flags, act=lambda fd: None):
    """Open, act, and close; any of the steps may fail."""
    fd = os.open(path, flags, 0o666)
    try:
        return act(fd)
    finally:
        os.close(fd)


def call(name, *arguments):
    if getattr(libc, name)(*arguments) < 0:
        raise OSError(ctypes.get_errno(), name)


def grafts():
    return {line.split("\t")[0]: line.split("\t")[1] for line in open(f"{mount}/.grafts")}


def undo(number, part="up"):
    name = os.path.basename(slot(number, part))
    with open(slot(number, part), "wb") as file:
        file.write(content(f"{mount}/.base/organs/{name}"))


OTHER = content(f"{donor}/organs/blk_2_ffn_up.bin")
BASE = content(slot(2))
JUNK = b"junk"
WRITE = os.O_WRONLY | os.O_TRUNC
CREATE = os.O_WRONLY | os.O_CREAT


def check_open():
    for flags in os.O_RDONLY, os.O_RDWR, os.O_WRONLY, WRITE, os.O_RDONLY | os.O_DIRECT:
        check(f"open {flags:o}", None, lambda: opened(slot(2), flags))
    check("emptied only", {}, grafts)
    path = f"{mount}/.base/organs/blk_2_ffn_up.bin"
    check("write to the base", "EACCES", lambda: opened(path, os.O_WRONLY))
    for name in "model.gguf", "manifest.json", ".log", ".check":
        path = f"{mount}/{name}"
        check(f"write {name}", 4, lambda: opened(path, WRITE, lambda fd: os.write(fd, JUNK)))
        check(f"{name} drops it", True, lambda: content(path) != JUNK)
    # The kernel refuses all users but root in a read-only directory.
    fixed = "EACCES" if os.geteuid() else "EPERM"
    for path, error in ("x", "EPERM"), (".views/x", fixed), (".base/organs/x.bin", fixed):
        check(f"create {path}", error, lambda: opened(f"{mount}/{path}", CREATE))
    check("O_TMPFILE", "ENOTSUP", lambda: opened(ORGANS, os.O_WRONLY | os.O_TMPFILE))
    theta = f"{ORGANS}/blk_2_ffn_up.theta"
    check("write θ", 4, lambda: opened(theta, WRITE, lambda fd: os.write(fd, JUNK)))
    check("θ", b"36.22\n", lambda: content(theta))


def check_close():
    report = os.open(f"{mount}/.grafts", os.O_RDONLY)
    reader, first, second = (os.open(slot(2), how) for how in (os.O_RDONLY, WRITE, WRITE))
    last = BASE[:-1] + bytes([BASE[-1] ^ 1])
    os.write(first, last)
    os.write(second, OTHER)
    check("before close", BASE, lambda: content(slot(2)))
    check("fsync", None, lambda: os.fsync(second))
    check("after fsync", BASE, lambda: content(slot(2)))
    duplicate = os.dup(second)
    check("close of a duplicate", None, lambda: os.close(second))
    check("after close", OTHER, lambda: content(slot(2)))
    os.close(duplicate)
    check("close of the first writer", None, lambda: os.close(first))
    check("the last to close", last, lambda: content(slot(2)))
    check("an old handle", BASE, lambda: os.pread(reader, len(BASE) + 1, 0))
    check("the state at open", b"", lambda: os.read(report, 100))
    os.close(reader)
    os.close(report)
    check("junk", "EINVAL", lambda: opened(slot(2), WRITE, lambda fd: os.write(fd, JUNK)))
    check("after junk", last, lambda: content(slot(2)))
    check("O_APPEND", "EINVAL",
          lambda: opened(slot(2), os.O_WRONLY | os.O_APPEND, lambda fd: os.write(fd, JUNK)))
    undo(2)
    check("undo", {}, grafts)


def killed_writer(data):
    pid = os.fork()
    if pid == 0:
        os.write(os.open(slot(2), WRITE), data)
        os.kill(os.getpid(), signal.SIGKILL)
    os.waitpid(pid, 0)


def check_killed():
    killed_writer(OTHER[:1000])
    check("killed half way", BASE, lambda: content(slot(2)))
    killed_writer(OTHER)
    check("killed at the end", OTHER, lambda: content(slot(2)))
    undo(2)


def check_sync():
    for path in slot(2), ORGANS:
        check(f"fsync {path}", None, lambda: opened(path, os.O_RDONLY, os.fsync))
    check("syncfs", None, lambda: opened(mount, os.O_RDONLY, lambda fd: call("syncfs", fd)))


def check_truncate():
    for size in 0, 100, len(BASE) + 1:
        check(f"truncate {size}", "EINVAL", lambda: os.truncate(slot(2), size))
    check("truncate to the same", None, lambda: os.truncate(slot(2), len(BASE)))
    check("ftruncate", "EINVAL",
          lambda: opened(slot(2), os.O_RDWR, lambda fd: os.ftruncate(fd, 100)))
    check("after truncate", BASE, lambda: content(slot(2)))


def mapped(path, how):
    return opened(path, os.O_RDONLY,
                  lambda fd: mmap.mmap(fd, 0, how, mmap.PROT_READ)[:4])


def check_mmap():
    for path in slot(2), f"{mount}/model.gguf", f"{mount}/.check":
        for how in mmap.MAP_PRIVATE, mmap.MAP_SHARED:
            check(f"mmap {path}", content(path)[:4], lambda: mapped(path, how))
    for name in ("organs/blk_2_ffn_up.theta", "organs/.theta", ".theta", ".table", "theta.svg",
                 "manifest.json", ".report.json", "checksums.xxh128", ".views/gguf-hash.xxh64"):
        path = f"{mount}/{name}"
        check(f"mmap {name}", content(path)[:4], lambda: mapped(path, mmap.MAP_PRIVATE))
    fd = os.open(slot(2), os.O_RDWR)
    writable = mmap.mmap(fd, 0)
    writable[-1] ^= 1
    writable.flush()
    check("msync", {}, grafts)
    os.close(fd)
    writable.close()
    check("a map", BASE[-1] ^ 1, lambda: content(slot(2))[-1])
    undo(2)


def check_rename():
    scratch = f"{ORGANS}/scratch.tmp"
    opened(scratch, CREATE, lambda fd: os.write(fd, JUNK))
    check("rename junk", "EPERM", lambda: os.rename(scratch, slot(2)))
    check("after that", (JUNK, BASE), lambda: (content(scratch), content(slot(2))))
    opened(scratch, WRITE, lambda fd: os.write(fd, OTHER))
    check("rename", None, lambda: os.rename(scratch, slot(2)))
    check("after rename", OTHER, lambda: content(slot(2)))
    undo(2)
    check("set aside", None, lambda: os.rename(slot(2), f"{ORGANS}/aside"))
    check("empty now", {"organs/blk_2_ffn_up.bin": "removed"}, grafts)
    check("and back", None, lambda: os.rename(f"{ORGANS}/aside", slot(2)))
    check("no graft", {}, grafts)
    check("rename out", "EXDEV", lambda: os.rename(slot(2), f"{directory}/x"))
    for flags, name in (1, "EEXIST"), (2, "EINVAL"):
        check(f"renameat2 {flags}", name,
              lambda: call("renameat2", -100, slot(2).encode(), -100, slot(1).encode(), flags))
    for name in "organs", "model.gguf":
        check(f"rename {name}", "EPERM", lambda: os.rename(f"{mount}/{name}", f"{mount}/x"))


def check_links():
    check("link onto a slot", "EEXIST", lambda: os.link(slot(1), slot(2)))
    check("link to no slot", "EINVAL", lambda: os.link(slot(1), f"{ORGANS}/x.bin"))
    check("link out", "EXDEV", lambda: os.link(slot(1), f"{directory}/x"))
    check("links", 2, lambda: os.stat(slot(1)).st_nlink)
    check("links in embed", 1, lambda: os.stat(f"{mount}/embed/token_embd.bin").st_nlink)
    key = f"{mount}/metadata/general.name"
    check("link a key", "EPERM", lambda: os.link(key, f"{mount}/metadata/my.name"))
    check("symlink a key", "EPERM", lambda: os.symlink("general.name", f"{mount}/metadata/my.name"))
    check("symlink in the root", "EPERM", lambda: os.symlink("x", f"{mount}/x"))


def check_names():
    theta = f"{ORGANS}/blk_2_ffn_up.theta"
    check("unlink θ", None, lambda: os.unlink(theta))
    check("it is hidden", "ENOENT", lambda: os.stat(theta).st_size)
    check("made again", 6, lambda: opened(theta, CREATE, lambda fd: os.fstat(fd).st_size))
    for name in "model.gguf", ".theta", ".assemble":
        check(f"unlink {name}", "EPERM", lambda: os.unlink(f"{mount}/{name}"))
    for path in f"{mount}/x", f"{ORGANS}/x", f"{ORGANS}/.Trash-1000":
        check(f"mkdir {path}", "EPERM", lambda: os.mkdir(path))
    check("rmdir", "ENOTEMPTY", lambda: os.rmdir(ORGANS))
    check("rmdir of another", "EPERM", lambda: os.rmdir(f"{mount}/metadata"))
    check("mknod", None, lambda: os.mknod(f"{ORGANS}/x.tmp"))
    check("mkfifo", "EPERM", lambda: os.mkfifo(f"{ORGANS}/fifo"))
    os.unlink(f"{ORGANS}/x.tmp")


def check_attributes():
    before = os.stat(slot(2))
    for what, act in (("chmod", lambda: os.chmod(slot(2), 0o600)),
                      ("chown", lambda: os.chown(slot(2), os.getuid(), os.getgid())),
                      ("utime", lambda: os.utime(slot(2), (1, 1)))):
        check(what, None, act)
    check("nothing changed", before, lambda: os.stat(slot(2)))
    opened(slot(2), WRITE, lambda fd: (os.write(fd, OTHER), os.utime(fd, (1, 1))))
    check("the time of a graft", 1, lambda: os.stat(slot(2)).st_mtime)
    check("another inode", True, lambda: os.stat(slot(2)).st_ino != before.st_ino)
    undo(2)
    check("statfs", os.statvfs(os.path.dirname(mount)).f_blocks, lambda: os.statvfs(mount).f_blocks)


def check_xattrs():
    check("listxattr", {"tensor", "type", "shape", "class", "block", "extent"},
          lambda: {name.removeprefix("user.organfs.") for name in os.listxattr(slot(2))})
    check("theta", b"36.22", lambda: os.getxattr(slot(2), "user.organfs.theta"))
    check("no such", "ENODATA", lambda: os.getxattr(slot(2), "user.organfs.x"))
    check("of others", "ENOTSUP", lambda: os.setxattr(slot(2), "user.x", b"1"))
    check("along with a copy", None, lambda: os.setxattr(slot(2), "user.organfs.shape", b"1x1"))
    check("dropped", b"256x512", lambda: os.getxattr(slot(2), "user.organfs.shape"))
    check("removexattr", "EPERM", lambda: os.removexattr(slot(2), "user.organfs.shape"))
    check("chosen type", None, lambda: os.setxattr(slot(2), "user.organfs.type", b"F32"))
    check("of the content", b"F32", lambda: os.getxattr(slot(2), "user.organfs.type"))
    check("taken back", None, lambda: os.removexattr(slot(2), "user.organfs.type"))
    check("twice", "ENODATA", lambda: os.removexattr(slot(2), "user.organfs.type"))
    for name in "security.capability", "system.posix_acl_access":
        check(name, "ENOTSUP", lambda: os.getxattr(slot(2), name))


def check_locks():
    first, second, writer = (os.open(slot(2), how)
                             for how in (os.O_RDONLY, os.O_RDONLY, os.O_WRONLY))
    lock = fcntl.LOCK_EX | fcntl.LOCK_NB
    check("flock", None, lambda: fcntl.flock(first, lock))
    check("flock again", "EAGAIN", lambda: fcntl.flock(second, lock))
    check("flock of a writer", None, lambda: fcntl.flock(writer, lock))
    check("lockf", None, lambda: fcntl.lockf(writer, lock))
    for fd in first, second, writer:
        os.close(fd)


def copied(source, target):
    def to(fd):
        return opened(source, os.O_RDONLY, lambda s: os.copy_file_range(s, fd, len(OTHER)))
    return opened(target, WRITE, to)


def check_space():
    check("fallocate", "ENOTSUP", lambda: opened(slot(2), os.O_RDWR, lambda fd: call(
        "fallocate", fd, 0, ctypes.c_long(0), ctypes.c_long(4096))))
    check("posix_fallocate", None, lambda: opened(
        slot(2), os.O_RDWR, lambda fd: os.posix_fallocate(fd, 0, 4096)))
    check("copy_file_range", len(OTHER), lambda: copied(slot(1), slot(2)))
    check("a reference", {"organs/blk_2_ffn_up.bin": "reference"}, grafts)
    undo(2)
    outside = f"{directory}/organ.bin"
    with open(outside, "wb") as file:
        file.write(OTHER)
    check("copy_file_range in", "EXDEV", lambda: copied(outside, slot(2)))
    check("copy_file_range out", "EXDEV", lambda: copied(slot(2), outside))
    with open(outside, "wb") as file:
        file.write(OTHER)
    check("FICLONE", "ENOTSUP", lambda: opened(slot(2), os.O_RDWR, lambda fd: opened(
        slot(1), os.O_RDONLY, lambda source: fcntl.ioctl(fd, 0x40049409, source))))
    for whence, at in (os.SEEK_DATA, 0), (os.SEEK_HOLE, len(BASE)):
        check("lseek", at, lambda: opened(slot(2), os.O_RDONLY,
                                          lambda fd: os.lseek(fd, 0, whence)))
    check("ioctl", "ENOTTY", lambda: opened(slot(2), os.O_RDONLY, lambda fd: fcntl.ioctl(
        fd, 0x80086601, bytes(8))))
    check("execve", "EACCES", lambda: os.posix_spawn(slot(2), ["x"], {}))


def events(fd):
    """Names that a watch has reported by now."""
    try:
        data = os.read(fd, 65536)
    except BlockingIOError:
        return set()
    names = set()
    while data:
        length = struct.unpack_from("iIII", data)[3]
        names.add(data[16:16 + length].rstrip(b"\0").decode())
        data = data[16 + length:]
    return names


def check_inotify():
    fds = [libc.inotify_init1(os.O_NONBLOCK) for _ in range(2)]
    for fd, path in zip(fds, (ORGANS, f"{mount}/.theta")):
        call("inotify_add_watch", fd, path.encode(), 0xfff)
    opened(slot(2), WRITE, lambda fd: os.write(fd, OTHER))
    check("inotify", {"blk_2_ffn_up.bin"}, lambda: events(fds[0]))
    check("inotify of what follows", set(), lambda: events(fds[1]))
    undo(2)
    for fd in fds:
        os.close(fd)


def check_read_only():
    path = f"{donor}/organs/blk_2_ffn_up.bin"
    for act in (lambda: opened(path, os.O_WRONLY), lambda: os.unlink(path),
                lambda: os.mkdir(f"{donor}/x"), lambda: os.chmod(path, 0o600),
                lambda: os.symlink("x", f"{donor}/organs/x"),
                lambda: opened(f"{donor}/.assemble", os.O_WRONLY)):
        check("in a read-only mount", "EROFS", act)


def leave_grafts():
    """Make each kind of change, without a later call that would make it durable too."""
    opened(slot(0), WRITE, lambda fd: os.write(fd, OTHER))
    os.rename(slot(1), slot(2))
    os.link(slot(3), slot(6))
    os.unlink(slot(5))
    os.unlink(slot(5, "gate"))
    os.symlink(f"{directory}/organ.bin", slot(5))
    opened(f"{mount}/metadata/general.name", WRITE, lambda fd: os.write(fd, b"Chimera\n"))
    os.unlink(f"{mount}/metadata/general.license")
    check("left", 8, lambda: len(grafts()))


for run in (check_open, check_close, check_killed, check_sync, check_truncate, check_mmap,
            check_rename, check_links, check_names, check_attributes, check_xattrs, check_locks,
            check_space, check_inotify, check_read_only):
    run()
    check(f"{run.__name__} leaves nothing", {}, grafts)
leave_grafts()
sys.exit(1 if wrong else 0)

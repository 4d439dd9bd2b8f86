#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# liar.py MOUNTPOINT UID GID ANSWER [once] - a mount that claims to be a mount of organfs by that
# user: an empty directory whose attribute user.organfs.daemon is ANSWER; with an empty ANSWER that
# request gets no answer. With once, a name's first look-up finds nothing, the next gets no answer,
# and "silent" is printed. For root. Prints "ready" when it is mounted, and ends with the mount.
import ctypes
import errno
import os
import struct
import sys

NOSUID, NODEV = 2, 4
PARALLEL_DIROPS = 1 << 18
LOOKUP, FORGET, GETATTR, GETXATTR, INIT, INTERRUPT, BATCH_FORGET = 1, 2, 3, 22, 26, 36, 42


def attributes(uid, gid):
    """Attributes of the root: a directory of that user, valid for ever."""
    return struct.pack("<QII6Q10I", 1 << 40, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0,
                       0o40755, 2, uid, gid, 0, 4096, 0)


def value(request, answer):
    """Errno and reply for GETXATTR."""
    size, name = struct.unpack_from("<I4x", request, 40)[0], request[48:-1]
    if name != b"user.organfs.daemon":
        return errno.ENODATA, b""
    if size == 0:
        return 0, struct.pack("<I4x", len(answer))
    return (0, answer) if len(answer) <= size else (errno.ERANGE, b"")


def main():
    point, answer = (os.fsencode(sys.argv[i]) for i in (1, 4))
    uid, gid = (int(sys.argv[i]) for i in (2, 3))
    looked_up = set() if sys.argv[5:] == ["once"] else None
    fuse = os.open("/dev/fuse", os.O_RDWR)
    options = f"fd={fuse},rootmode=40000,user_id={uid},group_id={gid}"
    # mount(8) would access the mount, which FUSE allows only that user.
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.mount(b"liar", point, b"fuse.organfs", NOSUID | NODEV, options.encode()) != 0:
        raise OSError(ctypes.get_errno(), "mount")
    print("ready", flush=True)
    while True:
        try:
            request = os.read(fuse, 1 << 20)
        except OSError as error:
            return 0 if error.errno == errno.ENODEV else 1
        opcode, unique = struct.unpack_from("<IQ", request, 4)
        code, reply = errno.ENOSYS, b""
        if opcode in (FORGET, INTERRUPT, BATCH_FORGET) or opcode == GETXATTR and not answer:
            continue
        if opcode == LOOKUP and looked_up is not None:
            name = request[40:-1]
            if name in looked_up:
                print("silent", flush=True)
                continue
            looked_up.add(name)
            code = errno.ENOENT
        if opcode == INIT:
            code, reply = 0, struct.pack("<4I2H2I2H8I", 7, 31, 0, PARALLEL_DIROPS, 1, 1, 4096, 1, 1,
                                         0, *[0] * 8)
        elif opcode == GETATTR:
            code, reply = 0, attributes(uid, gid)
        elif opcode == GETXATTR:
            code, reply = value(request, answer)
        os.write(fuse, struct.pack("<IiQ", 16 + len(reply), -code, unique) + reply)


if __name__ == "__main__":
    sys.exit(main())

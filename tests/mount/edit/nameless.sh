#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# A file opened for writing without its name: through /proc/self/fd of an O_PATH descriptor, or by
# a file handle. The result is an ordinary graft, and a process that has the old content open or
# mapped keeps it.
. "${0%/*}/../lib.sh"

base=$(use stories260K)
donor=$MODELS/stories260K-donor.gguf
"$GGUF" organ "$donor" blk.0.ffn_up.weight "$TMP/donor"
"$GGUF" organ "$donor" blk.1.ffn_up.weight "$TMP/other"
mount_model "$base"

cat >"$TMP/nameless.py" <<'END'
import ctypes, errno, mmap, os, sys, time
mnt, donor, other, how = sys.argv[1:5]
organ = mnt + "/organs/blk_0_ffn_up.bin"
donor, other = (open(path, "rb").read() for path in (donor, other))
libc = ctypes.CDLL(None, use_errno=True)

class Handle(ctypes.Structure):
    _fields_ = [("bytes", ctypes.c_uint), ("type", ctypes.c_int), ("f", ctypes.c_ubyte * 128)]

def by_descriptor(path, flags):
    f = os.open(path, os.O_PATH)
    try:
        return os.open("/proc/self/fd/%d" % f, flags)
    finally:
        os.close(f)

def by_handle(path, flags):
    handle, mount = Handle(128), ctypes.c_int()
    # An O_PATH descriptor keeps the inode in use, as a file server does.
    f = os.open(path, os.O_PATH)
    at = os.open(mnt, os.O_RDONLY)
    try:
        if libc.name_to_handle_at(-100, path.encode(), ctypes.byref(handle),
                                  ctypes.byref(mount), 0) < 0:
            raise OSError(ctypes.get_errno(), "name_to_handle_at")
        g = libc.open_by_handle_at(at, ctypes.byref(handle), flags)
        if g < 0:
            raise OSError(ctypes.get_errno(), "open_by_handle_at")
        return g
    finally:
        os.close(f)
        os.close(at)

nameless = by_handle if how == "handle" else by_descriptor
if how == "handle":
    try:
        os.close(by_handle(organ, os.O_RDONLY))
    except OSError as error:
        if error.errno in (errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS):
            print("no file handles here:", error)
            sys.exit(77)
        raise

def content(path):
    with open(path, "rb") as f:
        return f.read()

def write(f, text):
    while text:
        text = text[os.write(f, text):]

old = content(organ)
assert old not in (donor, other) and len(old) == len(donor) == len(other)

# One earlier reader has cached pages, another one reads later.
reader, late = os.open(organ, os.O_RDONLY), os.open(organ, os.O_RDONLY)
shared = mmap.mmap(reader, len(old), mmap.MAP_SHARED, mmap.PROT_READ)
assert os.pread(reader, len(old) + 1, 0) == old == shared[:]

def readers_see_old():
    assert os.pread(reader, len(old) + 10000, 0) == old, "a reader sees something else"
    assert os.pread(late, 100, len(old) - 50) == old[-50:], "another reader does"
    assert shared[:] == old, "a map shows something else"
    assert os.fstat(reader).st_size == len(old), "the size has changed"

for flags in os.O_WRONLY, os.O_RDWR, os.O_RDWR | os.O_TRUNC, os.O_WRONLY | os.O_TRUNC:
    new = other if content(organ) == donor else donor
    now = content(organ)
    f = nameless(organ, flags)
    readers_see_old()
    assert content(organ) == now
    if not flags & os.O_TRUNC:
        os.ftruncate(f, 0)
    write(f, new[:5000])
    readers_see_old()
    assert content(organ) == now, "it is in force before it is closed"
    if flags & os.O_RDWR:
        assert os.pread(f, len(new), 0) == new[:5000], "written bytes are not read back"
        private = mmap.mmap(f, len(now), mmap.MAP_PRIVATE, mmap.PROT_READ)
        assert private[:] == now, "pages of the readers hold staged bytes"
        private.close()
        assert content(organ) == now, "the stage is in the pages of readers"
    write(f, new[5000:])
    os.utime(f, (1700000000, 1700000000))
    os.fsync(f)
    os.close(f)
    assert content(organ) == new, "it is not in force after close()"
    assert os.stat(organ).st_mtime == 1700000000, "the time is lost"
    readers_see_old()

# A part is written in place.
f = nameless(organ, os.O_RDWR)
assert os.pread(f, len(new), 0) == new
os.pwrite(f, b"\x55", len(new) - 1)
os.close(f)
assert content(organ) == new[:-1] + b"\x55"

# A file that is no organ is refused, and the slot keeps its content.
now = content(organ)
f = nameless(organ, os.O_WRONLY | os.O_TRUNC)
write(f, b"junk")
try:
    os.close(f)
    sys.exit("junk was taken")
except OSError as error:
    assert error.errno == errno.EINVAL, error
assert content(organ) == now
readers_see_old()
for f in reader, late:
    os.close(f)
shared.close()

# The last close of two concurrent writers counts, and neither sees the other's bytes.
f, g = nameless(organ, os.O_RDWR), nameless(organ, os.O_RDWR)
os.ftruncate(f, 0)
assert os.pread(g, len(now), 0) == now
write(f, donor)
write(g, other)
os.close(f)
assert content(organ) == donor
os.close(g)
assert content(organ) == other

# The kernel sends a reader's RELEASE later.
def write_once_released(text, flags=0):
    end = time.monotonic() + 60
    while True:
        f = nameless(key, os.O_WRONLY | os.O_TRUNC | flags)
        try:
            os.write(f, text)
            return f
        except OSError as error:
            if error.errno != errno.EBUSY or time.monotonic() > end:
                raise
        try:
            os.close(f)
        except OSError:
            pass


# The file cannot grow while a reader has it open, who would see zeros behind the end.
key = mnt + "/metadata/general.name"
before = content(key)
reader = os.open(key, os.O_RDONLY)
assert os.pread(reader, 1000, 0) == before
f = nameless(key, os.O_WRONLY | os.O_TRUNC)
try:
    os.write(f, before * 3)
    sys.exit("a file grew under a reader")
except OSError as error:
    assert error.errno == errno.EBUSY, error
try:
    os.close(f)
    sys.exit("half of it was taken")
except OSError as error:
    assert error.errno == errno.EBUSY, error
assert os.pread(reader, 1000, 0) == before == content(key)
os.close(reader)
f = write_once_released(b"a name ")
os.write(f, b"that is longer than the one before")
# A reader that opens the file now sees the new content.
reader = os.open(key, os.O_RDONLY)
for n in len(before) + 10, 1000, 10:
    assert os.pread(reader, n, 0) == before[:n], "zeros behind the end"
os.write(f, b", by far\n")
assert os.pread(reader, len(before) + 50, 0) == before
os.close(f)
assert content(key) == b"a name that is longer than the one before, by far\n"
assert os.pread(reader, len(before) + 50, 0) == before
os.close(reader)

# The kernel appends at the readers' end.
f = write_once_released(b"one ", os.O_APPEND)
os.write(f, b"two\n")
os.close(f)
assert content(key) == b"one two\n", content(key)

# A file that is read-only by name is read-only without its name too.
for path in mnt + "/.views/gguf-hash.xxh64", mnt + "/.base/organs/blk_0_ffn_up.bin":
    try:
        nameless(path, os.O_WRONLY)
        sys.exit(path + " can be written")
    except OSError as error:
        assert error.errno == errno.EACCES, error
END

python3 "$TMP/nameless.py" "$MNT" "$TMP/donor" "$TMP/other" descriptor
grep -q 'metadata/general.name: refused: .*without its name' "$MNT/.log" ||
	fail "no message about the file that cannot grow: $(cat "$MNT/.log")"
same "$MNT/organs/blk_0_ffn_up.bin" "$TMP/other"
# The base's inode is in force again, with the base's bytes in its pages.
cp "$MNT/.base/organs/blk_0_ffn_up.bin" "$MNT/organs/"
"$GGUF" organ "$base" blk.0.ffn_up.weight "$TMP/own"
same "$MNT/organs/blk_0_ffn_up.bin" "$TMP/own"

before=$(descriptors)
status=0
python3 "$TMP/nameless.py" "$MNT" "$TMP/donor" "$TMP/other" handle >"$TMP/said" 2>&1 || status=$?
[ $status = 0 ] || [ $status = 77 ] || fail "by handle: $(cat "$TMP/said")"
cp "$MNT/.base/organs/blk_0_ffn_up.bin" "$MNT/organs/"
same "$MNT/organs/blk_0_ffn_up.bin" "$TMP/own"
no_leak "$before"

# The mount is read-only.
unmount_and_wait
mount_model -o ro "$base"
expect_fail 'read-only' python3 -c 'import os, sys
f = os.open(sys.argv[1], os.O_PATH)
os.open("/proc/self/fd/%d" % f, os.O_WRONLY)' "$MNT/organs/blk_0_ffn_up.bin"
unmount_and_wait

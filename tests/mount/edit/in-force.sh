#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# A file that close() or rename() has put in force takes no more writes through an open descriptor:
# they fail with ESTALE and a line in .log. Reads and close() still work.
. "${0%/*}/../lib.sh"

mount_model -o noassemble "$(use stories260K)"
"$GGUF" organ "$MODELS/stories260K-donor.gguf" blk.0.ffn_up.weight "$TMP/donor"

cat >"$TMP/in-force.py" <<'END'
import errno, mmap, os, sys

mnt, source = sys.argv[1:]
with open(source, "rb") as file:
    donor = file.read()
other = donor[:-4] + b"\0\0\x80?"
organs, metadata = mnt + "/organs/", mnt + "/metadata/"


def read(path):
    with open(path, "rb") as file:
        return file.read()


def refused(act, what):
    try:
        act()
    except OSError as error:
        assert error.errno == errno.ESTALE, (what, error)
    else:
        raise AssertionError(what + " succeeds")


def is_in_force(fd, path, content):
    assert read(path) == content
    refused(lambda: os.pwrite(fd, b"\x11", len(content) - 1), "write")
    refused(lambda: os.ftruncate(fd, 0), "ftruncate")
    organ = os.open(organs + "blk_1_ffn_up.bin", os.O_RDONLY)
    refused(lambda: os.copy_file_range(organ, fd, 100), "copy_file_range")
    os.close(organ)
    os.utime(fd)
    os.fsync(fd)
    assert os.pread(fd, len(content) + 1, 0) == content, "read"
    os.close(os.dup(fd))
    os.close(fd)
    assert read(path) == content, "refused content is in force"


def make(path, content, flags=os.O_RDWR | os.O_CREAT | os.O_EXCL):
    fd = os.open(path, flags)
    os.write(fd, content)
    return fd


for path, content, flags in (
    (organs + "blk_7_ffn_up.bin", donor, os.O_CREAT | os.O_EXCL),
    (organs + "blk_7_ffn_up.bin", other, 0),
    (organs + "blk_0_ffn_up.bin", donor, os.O_TRUNC),
    (metadata + "general.novel", b"first\n", os.O_CREAT | os.O_EXCL),
    (metadata + "general.novel", b"other\n", os.O_TRUNC),
):
    fd = make(path, content, os.O_RDWR | flags)
    os.close(os.dup(fd))
    is_in_force(fd, path, content)

# rename() comes with and without a close before it, as by GIO and QSaveFile.
for closes in True, False:
    for path, content in (
        (organs + "blk_8_ffn_up.bin", donor),
        (organs + "blk_0_ffn_up.bin", other),
        (metadata + "general.another", b"third\n"),
    ):
        temporary = os.path.dirname(path) + "/.temporary"
        fd = make(temporary, content)
        if closes:
            os.close(os.dup(fd))
        os.rename(temporary, path)
        is_in_force(fd, path, content)
        if "8" in path or "another" in path:
            os.unlink(path)

# A refused file is not in force, and can be completed.
fd = make(organs + "blk_8_ffn_up.bin", donor[:100])
try:
    os.close(os.dup(fd))
    raise AssertionError("a part is in force")
except OSError as error:
    assert error.errno == errno.EINVAL, error
os.write(fd, donor[100:])
os.close(fd)
assert read(organs + "blk_8_ffn_up.bin") == donor

# A private file is never in force, under any name.
fd = make(organs + ".temporary", b"one")
os.close(os.dup(fd))
os.rename(organs + ".temporary", organs + ".other")
os.write(fd, b"two")
os.close(os.dup(fd))
assert read(organs + ".other") == b"onetwo"
os.unlink(organs + ".other")
os.write(fd, b"three")
assert os.pread(fd, 20, 0) == b"onetwothree"
os.close(fd)

# A file with a second private name stays private and writable.
fd = make(organs + ".temporary", donor)
os.link(organs + ".temporary", organs + ".second")
os.rename(organs + ".temporary", organs + "blk_9_ffn_up.bin")
os.pwrite(fd, other, 0)
os.close(fd)
assert read(organs + "blk_9_ffn_up.bin") == donor and read(organs + ".second") == other
os.unlink(organs + ".second")

# Pages of a map are no write through a descriptor: the unmap puts them in force, but not in a slot
# that was removed, moved or set aside meanwhile. rename() to the same name changes nothing.
path, away = organs + "blk_10_ffn_up.bin", organs + "blk_11_ffn_up.bin"
for to in None, path, away, organs + ".aside":
    fd = make(path, donor)
    pages = mmap.mmap(fd, len(donor))
    os.close(fd)
    assert read(path) == donor
    if to is None:
        os.unlink(path)
    else:
        os.rename(path, to)
    pages[-4:] = other[-4:]
    pages.close()
    assert to == path or not os.path.exists(path), "the slot is back"
    if to:
        assert read(to) == (other if to == path else donor), to
        os.unlink(to)
END
python3 "$TMP/in-force.py" "$MNT" "$TMP/donor" || fail "see above; .log: $(tail -n 5 "$MNT/.log")"
for name in organs/blk_7_ffn_up.bin metadata/general.novel; do
	grep -q "$name: refused: a write after close" "$MNT/.log" ||
		fail ".log does not say that $name takes no more writes"
done
unmount_and_wait

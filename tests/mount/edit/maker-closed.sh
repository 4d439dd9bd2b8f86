#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# A new file becomes a slot or key, or nothing, with its maker's last close. A process that looked
# up the name before and opens it for writing does not write to an orphan.
. "${0%/*}/../lib.sh"

mount_model -o noassemble "$(use stories260K)"
"$GGUF" organ "$MODELS/stories260K-donor.gguf" blk.0.ffn_up.weight "$TMP/donor"

cat >"$TMP/late.py" <<'END'
import errno, os, sys, threading

mnt, donor = sys.argv[1:]
with open(donor, "rb") as file:
    donor = file.read()


def read(path):
    with open(path, "rb") as file:
        return file.read()


def late(path, first, then):
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
    os.write(fd, first)
    known = os.open(path, os.O_PATH)
    os.close(fd)
    try:
        fd = os.open(f"/proc/self/fd/{known}", os.O_WRONLY)
    except OSError as error:
        assert error.errno == errno.ESTALE, error
    else:
        os.write(fd, then)
        os.close(fd)
        assert read(path) == then, f"bytes written to {path} are lost"
    try:
        os.truncate(f"/proc/self/fd/{known}", 0)
    except OSError as error:
        assert error.errno == errno.ESTALE, error
    else:
        assert not read(path).strip(), f"{path} was cut, and is not"
    os.close(known)


key, slot = mnt + "/metadata/general.late", mnt + "/organs/blk_7_ffn_up.bin"
late(key, b"one", b"two\n")
late(slot, donor, donor[:-4] + b"\0\0\x80?")
late(mnt + "/organs/blk_8_ffn_up.bin", b"", donor)

# After ESTALE the kernel looks up the name once more: if that meets another change, open() fails
# and nothing is lost. A thread that opened the file before its maker put it in force gets the
# error at its first write.
path = mnt + "/metadata/general.raced"
for number in range(300):
    def make():
        with open(path, "w", encoding="utf-8") as file:
            file.write("first")

    maker = threading.Thread(target=make)
    maker.start()
    texts = (b"%d\n" % number,)
    while True:
        try:
            fd = os.open(path, os.O_WRONLY | os.O_TRUNC)
            break
        except OSError as error:
            assert error.errno in (errno.ENOENT, errno.ESTALE), error
    maker.join()
    try:
        os.ftruncate(fd, 0)
        os.pwrite(fd, texts[0], 0)
    except OSError as error:
        assert error.errno == errno.ESTALE, error
        texts = (b"first\n", b"\n")  # before O_TRUNC or after it
    os.close(fd)
    assert read(path) in texts, (number, read(path))
    os.unlink(path)
END
python3 "$TMP/late.py" "$MNT" "$TMP/donor" || fail 'see above'
unmount_and_wait

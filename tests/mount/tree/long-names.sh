#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Names end at 255 bytes here too: the kernel passes longer ones to a FUSE filesystem.
. "${0%/*}/../lib.sh"

base=$(use stories260K)
mount_model -o noassemble "$base"
python3 - "$MNT" <<'END'
import errno, os, sys

mnt = sys.argv[1]
short, outside = f"{mnt}/organs/.short", f"{mnt}/organs/blk_0_ffn_up.bin"


def refused(act, *arguments):
    try:
        act(*arguments)
    except OSError as error:
        assert error.errno == errno.ENAMETOOLONG, (act, error)
    else:
        sys.exit(f"{act} takes a name that is too long")


def make(path):
    with open(path, "wb") as file:
        file.write(b"x")


for directory in "organs", "metadata":
    most = f"{mnt}/{directory}/." + "x" * 254
    make(most)
    assert os.path.basename(most) in os.listdir(f"{mnt}/{directory}")
    os.unlink(most)
make(short)
for n in 256, 257, 1000, 3500:
    for directory in "", "organs", "metadata", ".base/organs", ".views/npy":
        name = os.path.join(mnt, directory, "x" * n)
        for act in make, os.stat, os.unlink, os.rmdir, os.mkdir, os.mknod:
            refused(act, name)
        refused(os.symlink, "x", name)
        refused(os.link, short, name)
        refused(os.rename, short, name)
        refused(os.rename, name, short)
        refused(os.rename, outside, name)
END
exists "$MNT/organs/.short"
equal "$(cat "$MNT/.grafts")" ''
unmount_and_wait

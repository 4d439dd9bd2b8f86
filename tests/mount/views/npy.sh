#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# .views/npy: every type read by NumPy, in any part, and only that part is read from the base.
. "${0%/*}/../lib.sh"

python3=$(PATH=/usr/bin:$PATH command -v python3)
"$python3" -c 'import numpy' 2>/dev/null || skip 'no python3-numpy'

mount_model -o ro "$MODELS/types.gguf"
absent "$MNT/.views/npy/other/f32.bin"
"$python3" - "$MNT/.views/npy" "$MODELS/types-f32.sha256" <<'END' || fail 'NumPy sees other values'
import hashlib
import os
import sys

import numpy as np

views, golden = sys.argv[1:]
own = {"f64": "<f8", "f32": "<f4", "f16": "<f2", "i8": "|i1", "i16": "<i2", "i32": "<i4",
       "i64": "<i8"}
seen = 0
for line in open(golden):
    expected, name = line.split()
    path = os.path.join(views, "other", name + ".npy")
    values, mapped = np.load(path), np.load(path, mmap_mode="r")
    assert values.shape == (32, 256), (name, values.shape)
    assert values.dtype.str == own.get(name, "<f4"), (name, values.dtype)
    assert hashlib.sha256(values.astype("<f4").tobytes()).hexdigest() == expected, name
    for row in 31, 0, 17:
        assert mapped[row].tobytes() == values[row].tobytes(), (name, row)
    assert values.nbytes + 128 >= os.path.getsize(path) > values.nbytes
    seen += 1
listed = [f for _, _, files in os.walk(views) for f in files]
assert len(listed) == seen, listed
END
unmount_and_wait

# The content in force is shown: a graft, and no file for an empty slot.
mount_model "$(use stories260K)"
npy=$MNT/.views/npy/organs/blk_0_ffn_up.npy
cp "$npy" "$TMP/before"
cp "$MNT/organs/blk_1_ffn_up.bin" "$MNT/organs/blk_0_ffn_up.bin"
differ "$npy" "$TMP/before"
same "$npy" "$MNT/.views/npy/organs/blk_1_ffn_up.npy"
rm "$MNT/organs/blk_0_ffn_up.bin"
absent "$npy"
cp "$MNT/.base/organs/blk_0_ffn_up.bin" "$MNT/organs/"
same "$npy" "$TMP/before"
expect_fail 'Invalid argument' cp /etc/hostname "$npy"
expect_fail 'not permitted|Permission denied' rm "$npy"
expect_fail 'not permitted|Permission denied' touch "$MNT/.views/npy/organs/new.npy"
equal "$(getfattr --absolute-names --only-values -n user.organfs.tensor "$npy")" blk.0.ffn_up.weight
unmount_and_wait

# One row of a tensor of a gigabyte reads its blocks, and the kernel's read-ahead.
need fincore
"$GGUF" synth --tensors 11 --vocab 100 --size 256M --fill "$TMP/big.gguf"
sync "$TMP/big.gguf"
forget() {
	dd if="$TMP/big.gguf" iflag=nocache count=0 status=none
}
resident() {
	fincore -b -n -o RES "$TMP/big.gguf"
}
forget
[ "$(resident)" -lt 1000000 ] || skip 'the page cache is not let go of here'
mount_model -o ro "$TMP/big.gguf"
forget
"$python3" - "$MNT/.views/npy/organs/blk_0_ffn_up.npy" <<'END'
import sys

import numpy as np

values = np.load(sys.argv[1], mmap_mode="r")
assert values.size > 50_000_000, values.shape
print(values[values.shape[0] // 2].sum())
END
bytes=$(resident)
[ "$bytes" -gt 0 ] && [ "$bytes" -lt $((2 << 20)) ] || fail "$bytes bytes were read for a row"
unmount_and_wait

#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Writes to .views/npy, by numpy.save and through maps, for each type of values, and refusals.
. "${0%/*}/../lib.sh"

python3=$(PATH=/usr/bin:$PATH command -v python3)
"$python3" -c 'import numpy' 2>/dev/null || skip 'no python3-numpy'

mount_model "$(use stories260K)"
cat >"$TMP/write.py" <<'END'
import os
import sys

import numpy as np

path = sys.argv[1] + "/.views/npy/organs/blk_0_ffn_up.npy"
before = np.load(path)


def shows(values):
    now = np.load(path)
    assert now.dtype == np.float32 and now.tobytes() == values.astype("<f4").tobytes()


def refused(values):
    kept = np.load(path)
    try:
        np.save(path, values)
    except OSError as error:
        assert error.errno == 22, error
    else:
        raise AssertionError("it was taken")
    shows(kept)


np.save(path, before * 2)
shows(before * 2)
np.save(path, before[::-1])
shows(before[::-1])
np.save(path, np.asfortranarray(before))
shows(before)
for values in before.astype(np.float64), before.astype(np.float16):
    np.save(path, values)
    shows(values)
upper = (before.view(np.uint32) >> 16).astype(np.uint16)
np.save(path, upper)
shows((upper.astype(np.uint32) << 16).view(np.float32))

mapped = np.load(path, mmap_mode="r+")
expected = np.array(mapped)
mapped[3, 5] = expected[3, 5] = 42
mapped.flush()
del mapped
shows(expected)
mapped = np.lib.format.open_memmap(path, mode="w+", dtype="<f4", shape=before.shape)
mapped[:] = before + 1
del mapped
shows(before + 1)

# For a header alone numpy would map the slot's own file, which is in C order.
kept = np.load(path)
for wrong in dict(dtype="<f4", fortran_order=True), dict(dtype="<f8"):
    try:
        mapped = np.lib.format.open_memmap(path, mode="w+", shape=before.shape, **wrong)
        mapped[:] = before
        del mapped
    except OSError as error:
        assert error.errno == 22, error
    else:
        raise AssertionError("another order or type was mapped")
    shows(kept)

refused(before.T)
refused(before[:-1])
refused(before.astype(np.int32))
refused(before.astype(">f4"))
refused(before.astype(np.complex64))
shows(before + 1)
END
"$python3" "$TMP/write.py" "$MNT" || fail 'NumPy sees other values'
grep -q '(64, 172), .*(172, 64)' "$MNT/.log" || fail 'no shape'
grep -q 'its dtype is >f4' "$MNT/.log" || fail 'no dtype'
equal "$(cut -f 1-3 "$MNT/.grafts")" "organs/blk_0_ffn_up.bin	copy	F32"
npy=$MNT/.views/npy/organs/blk_0_ffn_up.npy
cp "$npy" "$TMP/kept.npy"
expect_fail 'Invalid argument' cp /etc/hostname "$npy"
expect_fail 'Invalid argument' truncate -s 100 "$npy"
expect_fail 'not permitted|Permission denied' cp "$TMP/kept.npy" "$MNT/.views/npy/organs/new.npy"
same "$npy" "$TMP/kept.npy"
# cp writes to another slot; the base's own values end a graft.
cp "$npy" "$MNT/.views/npy/organs/blk_1_ffn_up.npy"
same "$npy" "$MNT/.views/npy/organs/blk_1_ffn_up.npy"
cp "$MNT/.base/organs/blk_0_ffn_up.bin" "$MNT/organs/"
cp "$npy" "$TMP/base.npy"
cp "$TMP/kept.npy" "$npy"
cp "$TMP/base.npy" "$npy"
equal "$(cut -f 1 "$MNT/.grafts")" organs/blk_1_ffn_up.bin
assembled=$(echo "$TMP/out.gguf" >"$MNT/.assemble" && echo "$TMP/out.gguf")
unmount_and_wait
mount_model -o ro "$assembled"
same "$MNT/.views/npy/organs/blk_1_ffn_up.npy" "$TMP/kept.npy"
expect_fail 'Read-only file system' cp "$TMP/base.npy" "$npy"
unmount_and_wait

# Writes to a quantised slot: Q8_0 stays Q8_0, others become F16.
mount_model "$(use stories260K-q8_0)"
"$python3" - "$MNT/.views/npy/organs/blk_0_ffn_up.npy" <<'END' || fail 'Q8_0 has other values'
import sys

import numpy as np

values = np.load(sys.argv[1])
np.save(sys.argv[1], values * 3)
now = np.load(sys.argv[1])
assert now.dtype == np.float32
assert abs(now - values * 3).max() <= abs(values).max() * 3 / 127
END
equal "$(cut -f 3 "$MNT/.grafts")" Q8_0
unmount_and_wait
mount_model "$(use scribe-Q4_K_M)"
"$python3" - "$MNT/.views/npy/organs/blk_0_ffn_up.npy" <<'END' || fail 'Q4_K has other values'
import sys

import numpy as np

values = np.load(sys.argv[1])
np.save(sys.argv[1], values)
now = np.load(sys.argv[1])
assert now.dtype == np.float16
assert now.tobytes() == values.astype(np.float16).tobytes()
END
equal "$(cut -f 3 "$MNT/.grafts")" F16
expect_fail 'Permission denied' bash -c "echo x >'$MNT/.views/spectral/organs/blk_0_ffn_up.bin'"
unmount_and_wait

# Adapters show values of another type: a map would have the header of one type and the values of
# the other.
base=$(use stories260K-q8_0)
"$LORA" make "$base" "$TMP/adapter.gguf" blk.0.ffn_up.weight
for as in q8_0 f16; do
	mount_model -o "noassemble,fresh,merged=$as" "$base"
	npy=$MNT/.views/npy/organs/blk_0_ffn_up.npy
	ln -s "$TMP/adapter.gguf" "$MNT/adapters/"
	"$python3" - "$npy" $as <<'END' || fail "merged=$as: a map of merged values"
import sys

import numpy as np

try:
    np.load(sys.argv[1], mmap_mode="r+")
    assert sys.argv[2] == "q8_0"
except PermissionError:
    assert sys.argv[2] == "f16"
END
	rm "$MNT/adapters/adapter.gguf"
	cp "$npy" "$TMP/copy.npy"
	cp "$TMP/copy.npy" "$npy"
	unmount_and_wait
done

#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# A thread writes to .views/npy or an expert while another thread's close() puts the file in force:
# the write counts, or fails with ESTALE and changes nothing.
. "${0%/*}/../lib.sh"

"$GGUF" synth --tensors 11 --vocab 100 --size 96M "$TMP/big.gguf"
"$GGUF" experts "$MODELS/stories260K.gguf" "$TMP/moe.gguf" 8
# busy.py FILE DELAY: write it whole, and that many seconds after the close of a duplicate begins
# write one byte again.
cat >"$TMP/busy.py" <<'END'
import errno
import os
import sys
import threading
import time

path = sys.argv[1]
with open(path, "rb") as file:
    before = file.read()
fd = os.open(path, os.O_WRONLY | os.O_TRUNC)
whole = bytearray(before)
whole[-100] ^= 1
for at in range(0, len(whole), 1 << 20):
    os.pwrite(fd, whole[at:at + (1 << 20)], at)
closing = threading.Thread(target=os.close, args=(os.dup(fd),))
closing.start()
time.sleep(float(sys.argv[2]))
at = len(whole) - 200
try:
    os.pwrite(fd, bytes([whole[at] ^ 1]), at)
    whole[at] ^= 1
except OSError as error:
    assert error.errno == errno.ESTALE, error
closing.join()
os.close(fd)
with open(path, "rb") as file:
    assert file.read() == whole
END
mount_model -o noassemble "$TMP/big.gguf"
npy=$MNT/.views/npy/organs/blk_0_ffn_down.npy
# A Q4_K becomes F16, which is shown unconverted.
cp "$npy" "$TMP/big.npy"
cp "$TMP/big.npy" "$npy"
for delay in 0 .01 .03 .1 .2; do
	python3 "$TMP/busy.py" "$npy" $delay || fail "NumPy's file has lost bytes"
done
unmount_and_wait
mount_model -o noassemble "$TMP/moe.gguf"
for path in "$MNT/.views/experts/organs/blk_1_ffn_up_exps/"00[0-3].bin; do
	python3 "$TMP/busy.py" "$path" .002 || fail "$path has lost bytes"
done
unmount_and_wait

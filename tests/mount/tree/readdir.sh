#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Large directories are listed whole, in small pieces too and while they are read again.
. "${0%/*}/../lib.sh"

"$GGUF" synth "$TMP/big.gguf" --tensors 3000 --vocab 100 --size 300M
mount_model "$TMP/big.gguf"
count=$(find "$MNT" -name '*.bin' | wc -l)
equal "$count" 3000 'organs'
equal "$(ls -f "$MNT/organs" | sort -u | wc -l)" "$(ls -f "$MNT/organs" | wc -l)" 'names'
python3 - "$MNT/skeleton" <<'END'
import os, sys
# seekdir() works.
d = os.open(sys.argv[1], os.O_RDONLY | os.O_DIRECTORY)
first = os.listdir(d)
os.lseek(d, 0, os.SEEK_SET)
assert os.listdir(d) == first and len(first) == len(set(first)), len(first)
iterators = [os.scandir(sys.argv[1]) for _ in range(10)]
seen = [[] for _ in iterators]
for _ in first:
    for names, it in zip(seen, iterators):
        names.append(next(it).name)
assert all(sorted(names) == sorted(first) for names in seen)
END
same "$MNT/model.gguf" "$TMP/big.gguf"
unmount_and_wait

#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Ordinary readers: O_DIRECT, maps, odd offsets, reads past the end.
. "${0%/*}/../lib.sh"

base=$(use scribe-Q4_K_M)
mount_model "$base"
organ=$MNT/embed/token_embd.bin
"$GGUF" organ "$base" token_embd.weight "$TMP/expected"

dd if="$organ" of="$TMP/copy" bs=64k iflag=direct status=none
same "$TMP/copy" "$TMP/expected"
dd if="$MNT/model.gguf" of="$TMP/copy" bs=1M iflag=direct status=none
same "$TMP/copy" "$base"
dd if="$organ" of="$TMP/copy" bs=777 status=none
same "$TMP/copy" "$TMP/expected"

python3 - "$MNT/model.gguf" "$base" <<'END'
import mmap, os, random, sys
f, expected = os.open(sys.argv[1], os.O_RDONLY), open(sys.argv[2], "rb").read()
size = os.fstat(f).st_size
assert size == len(expected)
for flags in (mmap.MAP_SHARED, mmap.MAP_PRIVATE):
    with mmap.mmap(f, size, flags, mmap.PROT_READ) as m:
        assert m[:] == expected
random.seed(1)
direct = os.open(sys.argv[1], os.O_RDONLY | os.O_DIRECT)
buffer = mmap.mmap(-1, 1 << 20)
for _ in range(500):
    at, length = random.randrange(size + 5000), random.randrange(300000)
    assert os.pread(f, length, at) == expected[at:at + length], (at, length)
    at, length = at // 512 * 512, (length // 512 + 1) * 512
    got = os.preadv(direct, [memoryview(buffer)[:length]], at)
    assert buffer[:got] == expected[at:at + length], (at, length, got)
assert os.pread(f, 100, size) == b"" and os.pread(f, 100, size + 1 << 40) == b""
assert os.lseek(f, 0, os.SEEK_END) == size
END
# A write to a private map does not reach the file.
python3 - "$organ" <<'END'
import mmap, os, sys
f = os.open(sys.argv[1], os.O_RDONLY)
m = mmap.mmap(f, 4096, mmap.MAP_PRIVATE, mmap.PROT_READ | mmap.PROT_WRITE)
m[0:4] = b"abcd"
END
same "$organ" "$TMP/expected"
unmount_and_wait
absent "$TMP/scribe-Q4_K_M.grafted.gguf"

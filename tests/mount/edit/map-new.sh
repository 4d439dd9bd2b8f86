#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# A program makes a file, sets its size and writes through a shared map, like numpy.memmap with
# mode w+: a new slot, an emptied one, an existing one, a file with another name.
. "${0%/*}/../lib.sh"

base=$(use stories260K)
donor=$MODELS/stories260K-donor.gguf
"$GGUF" organ "$donor" blk.0.ffn_up.weight "$TMP/donor"
"$GGUF" organ "$donor" blk.1.ffn_up.weight "$TMP/other"
mount_model "$base"

# map HOW FROM TO: python keeps a descriptor with its map, C does not, numpy does either.
map() {
	python3 - "$@" <<'END'
import ctypes, mmap, os, sys
how, source, target = sys.argv[1:]
content = open(source, "rb").read()
n = len(content)
if how == "numpy":
    import numpy
    values = numpy.memmap(target, "uint8", "w+", shape=(n,))
    values[:] = numpy.frombuffer(content, "uint8")
    del values
elif how == "python":
    with open(target, "w+b") as f:
        f.truncate(n)
        with mmap.mmap(f.fileno(), n) as values:
            values[:] = content
elif how == "closed":
    libc = ctypes.CDLL(None, use_errno=True)
    libc.mmap.restype = ctypes.c_void_p
    libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int,
                          ctypes.c_int, ctypes.c_long]
    libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
    f = os.open(target, os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o600)
    os.ftruncate(f, n)
    at = libc.mmap(None, n, mmap.PROT_READ | mmap.PROT_WRITE, mmap.MAP_SHARED, f, 0)
    if at in (None, ctypes.c_void_p(-1).value):
        sys.exit(os.strerror(ctypes.get_errno()))
    half = n // 2
    ctypes.memmove(at, content[:half], half)
    # Only size and header are right so far: the other bytes come through the map.
    os.close(f)
    ctypes.memmove(at + half, content[half:], n - half)
    if libc.munmap(at, n):
        sys.exit("munmap")
END
}

hows='python closed'
# numpy closes its descriptor before it writes to the map.
! python3 -c 'import numpy' 2>/dev/null || hows+=' numpy'
organs=$MNT/organs
rounds=0
for how in $hows; do
	new=$organs/blk_5_ffn_up.bin
	absent "$new"
	map "$how" "$TMP/donor" "$new"
	until_true 60 cmp -s "$new" "$TMP/donor" || fail "$how: a new slot: $(cat "$MNT/.log")"
	rm "$new"
	rm -f "$organs/blk_0_ffn_up.bin"
	map "$how" "$TMP/donor" "$organs/blk_0_ffn_up.bin"
	until_true 60 cmp -s "$organs/blk_0_ffn_up.bin" "$TMP/donor" || fail "$how: an empty slot"
	exec 5<"$organs/blk_0_ffn_up.bin"
	map "$how" "$TMP/other" "$organs/blk_0_ffn_up.bin"
	until_true 60 cmp -s "$organs/blk_0_ffn_up.bin" "$TMP/other" || fail "$how: a full slot"
	cmp - "$TMP/donor" <&5 || fail "$how: who had it open does not see the old content"
	exec 5<&-
	map "$how" "$TMP/donor" "$organs/.scratch"
	until_true 60 cmp -s "$organs/.scratch" "$TMP/donor" || fail "$how: a private file"
	mv "$organs/.scratch" "$organs/blk_1_ffn_up.bin"
	same "$organs/blk_1_ffn_up.bin" "$TMP/donor"
	rounds=$((rounds + 1))
	rm "$organs/blk_0_ffn_up.bin" "$organs/blk_1_ffn_up.bin"
done
[ $rounds -ge 2 ] || fail 'nothing was tried'

# Content is complete after close().
for i in 1 2 3 4 5; do
	map python "$TMP/donor" "$organs/blk_5_ffn_up.bin"
	same "$organs/blk_5_ffn_up.bin" "$TMP/donor"
	map python "$TMP/other" "$organs/blk_5_ffn_up.bin"
	same "$organs/blk_5_ffn_up.bin" "$TMP/other"
	rm "$organs/blk_5_ffn_up.bin"
done

# Two processes have the file open, one to write, one to read and write: each sees the other's
# bytes.
python3 - "$organs/.both" <<'END'
import os, sys
f = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT)
os.write(f, b"a" * 10000)
g = os.open(sys.argv[1], os.O_WRONLY)
r = os.open(sys.argv[1], os.O_RDONLY)
assert os.pread(r, 20000, 0) == b"a" * 10000
os.pwrite(f, b"b", 5000)
assert os.pread(r, 20000, 0) == b"a" * 5000 + b"b" + b"a" * 4999
os.close(g)
END

# A file that is no organ is still refused.
head -c 1000 "$TMP/donor" >"$TMP/short"
map python "$TMP/short" "$organs/blk_6_ffn_up.bin" 2>"$TMP/said" || true
log_comes_to_say 'blk_6_ffn_up'
for short in "$organs/blk_3_ffn_up.bin" "$MNT/metadata/llama.context_length"; do
	python3 - "$short" <<'END' || fail "$short: a few zeros are not refused by close()"
import errno, os, sys
fd = os.open(sys.argv[1], os.O_RDWR | os.O_TRUNC)
os.write(fd, bytes(100))
try:
    os.close(fd)
    sys.exit(1)
except OSError as error:
    assert error.errno == errno.EINVAL, error
END
done
until_true 60 test ! -e "$organs/blk_6_ffn_up.bin" || fail 'a refused file exists'
unmount_and_wait

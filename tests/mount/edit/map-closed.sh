#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# A program maps an organ, closes the descriptor and writes through the map: the unmap makes a
# graft.
. "${0%/*}/../lib.sh"

base=$(use stories260K)
mount_model "$base"
organ=$MNT/organs/blk_0_ffn_up.bin
cp "$organ" "$TMP/expected"
cp "$organ" "$TMP/base"
# edit FILE OFFSET BYTE: map as C programs do; Python's own maps keep a descriptor.
edit() {
	python3 - "$@" <<'END'
import ctypes, os, sys
libc = ctypes.CDLL(None, use_errno=True)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int,
                      ctypes.c_long]
libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
libc.msync.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
f = os.open(sys.argv[1], os.O_RDWR)
size = os.fstat(f).st_size
at = libc.mmap(None, size, 3, 1, f, 0)  # readable and writable, shared
assert at not in (None, ctypes.c_void_p(-1).value), os.strerror(ctypes.get_errno())
os.close(f)
content = (ctypes.c_ubyte * size).from_address(at)
content[int(sys.argv[2]) % size] = int(sys.argv[3])
assert libc.msync(at, size, 4) == 0 and libc.munmap(at, size) == 0
END
}
edit "$organ" -1 77
edit "$TMP/expected" -1 77
differ "$TMP/expected" "$TMP/base"
until_true 60 cmp -s "$organ" "$TMP/expected" || fail 'bytes written through the map are lost'
equal "$(wc -l <"$MNT/.grafts")" 1 grafts

# Content that is no organ any more is refused, with a line in the log.
cp "$organ" "$TMP/before"
edit "$organ" 3 255
log_comes_to_say 'blk_0_ffn_up.bin: graft refused'
same "$organ" "$TMP/before"
unmount_and_wait
exists "$TMP/stories260K.grafted.gguf"

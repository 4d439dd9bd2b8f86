#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The kernel itself reads views that are one file on disk: the daemon gets no request, and the
# pages are cached once. The daemon reads other and changed files.
. "${0%/*}/../lib.sh"
need_passthrough
need fincore
need_strace

base=$(use scribe-Q4_K_M)
donor=$(use clerk-Q4_K_M)
before=$(checksum "$base")

# Bytes that the daemon reads from files during a command.
preads_of() {
	local tracer
	strace -f -qq -e trace=pread64,preadv -o "$TMP/calls" -p "${DAEMON[$MNT]}" &
	tracer=$!
	until_true 60 is_traced "${DAEMON[$MNT]}" || late 'strace does not come'
	"$@" >/dev/null
	kill "$tracer"
	wait "$tracer" 2>/dev/null || true
	awk -F '= ' '/pread/ { n += $NF } END { print n + 0 }' "$TMP/calls"
}

mount_model -o noassemble "$base"
read_by passthrough "$MNT/model.gguf"
read_by daemon "$MNT/organs/blk_0_ffn_up.bin"
expect_fail 'No such attribute|not supported' getfattr -n user.organfs.read "$MNT/manifest.json"
! getfattr -d "$MNT/model.gguf" | grep -q read= || fail 'the attribute is listed'
same "$MNT/model.gguf" "$base"
[ "$(preads_of cat "$MNT/model.gguf")" -lt 65536 ] || fail "the daemon reads: $(cat "$TMP/calls")"
[ "$(preads_of md5sum "$MNT/model.gguf")" -lt 65536 ] || fail "the daemon reads"
python3 - "$MNT/model.gguf" "$base" <<'END' || fail 'a map differs'
import mmap, os, sys
served, base = (open(path, "rb") for path in sys.argv[1:])
assert mmap.mmap(served.fileno(), 0, prot=mmap.PROT_READ)[:] == base.read()
# Direct reads need no alignment.
fd = os.open(sys.argv[1], os.O_RDONLY | os.O_DIRECT)
buffer = mmap.mmap(-1, 4096)
assert os.preadv(fd, [buffer], 0) == 4096 and buffer[:4] == b"GGUF"
END
# The kernel's pages belong to the file.
cat "$MNT/model.gguf" >/dev/null
[ "$(fincore -nb -o PAGES "$MNT/model.gguf")" -le "$(fincore -nb -o PAGES "$base")" ] ||
	fail 'pages in memory twice'

# While a direct reader has the file open, the daemon reads for all.
python3 - "$MNT/model.gguf" "$base" <<'END' || fail 'beside a direct reader'
import os, sys
direct = os.open(sys.argv[1], os.O_RDONLY | os.O_DIRECT)
assert os.getxattr(sys.argv[1], "user.organfs.read") == b"daemon"
assert open(sys.argv[1], "rb").read() == open(sys.argv[2], "rb").read()
os.close(direct)
END
# The layer has the organ as a file of its own.
unmount_and_wait
mount_model -o "noassemble,compress=off,layer=$TMP/layer" "$base"
"$ORGANFS" -o ro "$donor" "$TMP/donor"
cp "$TMP/donor/organs/blk_1_ffn_up.bin" "$TMP/organ"
umount "$TMP/donor"
cp "$TMP/organ" "$MNT/organs/blk_1_ffn_up.bin"
read_by passthrough "$MNT/organs/blk_1_ffn_up.bin"
same "$MNT/organs/blk_1_ffn_up.bin" "$TMP/organ"
equal "$(preads_of cat "$MNT/organs/blk_1_ffn_up.bin" | awk '{ print ($1 < 4096) }')" 1 'the organ'

# An assembled model is one file again.
echo "$TMP/out.gguf" >"$MNT/.assemble"
read_by passthrough "$MNT/model.gguf"
same "$MNT/model.gguf" "$TMP/out.gguf"
[ "$(preads_of cat "$MNT/model.gguf")" -lt 65536 ] || fail 'the daemon reads the assembled model'

# The daemon has to hash an organ from the layer once.
unmount_and_wait
mount_model -o "noassemble,layer=$TMP/layer" "$base"
read_by daemon "$MNT/organs/blk_1_ffn_up.bin"
same "$MNT/organs/blk_1_ffn_up.bin" "$TMP/organ"
read_by passthrough "$MNT/organs/blk_1_ffn_up.bin"
unmount_and_wait

mount_model -o noassemble,passthrough=no "$base"
read_by daemon "$MNT/model.gguf"
same "$MNT/model.gguf" "$base"
unmount_and_wait

# A changed base is not handed to the kernel.
mount_model -o noassemble "$base"
printf x | dd of="$base" bs=1 seek=900000 conv=notrunc status=none
read_by daemon "$MNT/model.gguf"
expect_fail 'Input/output error' cat "$MNT/model.gguf"
unmount_and_wait
[ "$before" != "$(checksum "$base")" ]

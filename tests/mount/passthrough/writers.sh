#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The kernel opens an inode in one mode at a time: a writer meets no new error while the kernel
# reads by passthrough.
. "${0%/*}/../lib.sh"
need_passthrough

base=$(use scribe-Q4_K_M)
donor=$(use clerk-Q4_K_M)
mount_model -o "noassemble,compress=off,layer=$TMP/layer" "$base"
"$ORGANFS" -o ro "$donor" "$TMP/donor"

# A write to model.gguf is ignored, also during reads.
exec 4<"$MNT/model.gguf"
read_by passthrough "$MNT/model.gguf"
cp "$donor" "$MNT/model.gguf"
echo x >"$MNT/model.gguf"
echo x >>"$MNT/model.gguf"
rsync --inplace "$donor" "$MNT/model.gguf" 2>"$TMP/said" || cat "$TMP/said"
equal "$(stat -c %s "$MNT/model.gguf")" "$(stat -c %s "$base")"
same "$MNT/model.gguf" "$base"
cmp /dev/fd/4 "$base"
# A descriptor open to read and write reads the model.
python3 - "$MNT/model.gguf" "$base" <<'END' || fail 'open to read and write'
import mmap, os, sys
fd, base = os.open(sys.argv[1], os.O_RDWR), open(sys.argv[2], "rb").read()
assert os.fstat(fd).st_size == len(base)
assert os.pread(fd, len(base), 0) == base
END
exec 4<&-
log_says 'model.gguf: .*discarded'

# A writer comes first, and the others read beside it.
exec 5>"$MNT/model.gguf"
read_by daemon "$MNT/model.gguf"
same "$MNT/model.gguf" "$base"
exec 5>&-
until_true 20 eval '[ "$(way "$MNT/model.gguf")" = passthrough ]'

# An organ of the layer is grafted anew, edited in place and removed during reads.
cp "$TMP/donor/organs/blk_1_ffn_up.bin" "$TMP/organ"
cp "$TMP/organ" "$MNT/organs/blk_1_ffn_up.bin"
exec 4<"$MNT/organs/blk_1_ffn_up.bin"
read_by passthrough "$MNT/organs/blk_1_ffn_up.bin"
cp "$TMP/donor/organs/blk_2_ffn_up.bin" "$MNT/organs/blk_1_ffn_up.bin"
cmp /dev/fd/4 "$TMP/organ"
cmp <(tail -c 1000 "$MNT/organs/blk_1_ffn_up.bin") \
	<(tail -c 1000 "$TMP/donor/organs/blk_2_ffn_up.bin") || fail 'the new organ'
exec 6<"$MNT/organs/blk_1_ffn_up.bin"
printf abc | dd of="$MNT/organs/blk_1_ffn_up.bin" bs=1 seek=5000 conv=notrunc status=none
equal "$(dd if="$MNT/organs/blk_1_ffn_up.bin" bs=1 skip=5000 count=3 status=none)" abc
[ "$(dd if=/dev/fd/6 bs=1 skip=5000 count=3 status=none | od -An -c)" != '   a   b   c' ]
rm "$MNT/organs/blk_1_ffn_up.bin"
cmp /dev/fd/4 "$TMP/organ"
exec 4<&- 6<&-
cp "$MNT/.base/organs/blk_1_ffn_up.bin" "$MNT/organs/"
same "$MNT/model.gguf" "$base"

# A nameless writer cannot be told from the readers.
cp "$TMP/organ" "$MNT/organs/blk_1_ffn_up.bin"
python3 - "$MNT/organs/blk_1_ffn_up.bin" <<'END' || fail 'a writer without a name'
import errno, os, sys, time
path = os.open(sys.argv[1], os.O_PATH)
reader = os.open(sys.argv[1], os.O_RDONLY)
try:
    os.open(f"/proc/self/fd/{path}", os.O_WRONLY)
except OSError as error:
    assert error.errno == errno.EBUSY, error
else:
    sys.exit("opened")
os.close(reader)
# The writer continues once the daemon knows of the reader's close; then the daemon reads.
for _ in range(500):
    try:
        writer = os.open(f"/proc/self/fd/{path}", os.O_WRONLY)
        break
    except OSError as error:
        assert error.errno == errno.EBUSY, error
        time.sleep(0.02)
assert os.getxattr(sys.argv[1], "user.organfs.read") == b"daemon"
assert len(open(sys.argv[1], "rb").read()) == os.stat(sys.argv[1]).st_size
END
log_says 'without its name .*kernel reads'
umount "$TMP/donor"
unmount_and_wait

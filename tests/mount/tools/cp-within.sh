#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# cp from slot to slot of a mount moves no byte, even for 5 GiB, which cp requests in two parts.
. "${0%/*}/../lib.sh"

"$GGUF" synth "$TMP/large.gguf" --tensors 38 --vocab 10 --size 12G --organ 5G
mount_model -o noassemble "$TMP/large.gguf"
up=$MNT/organs/blk_0_ffn_up.bin
for n in $(seq 10 59); do
	cp "$up" "$MNT/organs/blk_${n}_ffn_up.bin"
done
references() {
	awk '$1 ~ /^organs/ && $2 == "reference"' "$MNT/.grafts" | wc -l
}
equal "$(references)" 50
[ "$(du -sk "$XDG_STATE_HOME" | cut -f 1)" -lt 2000 ] || fail 'bytes were copied'
equal "$(stat -c %s "$MNT/organs/blk_59_ffn_up.bin")" "$(stat -c %s "$up")"
cmp <(head -c 1M "$MNT/organs/blk_59_ffn_up.bin") <(head -c 1M "$up")

# A copy of a copy shares its blob; a write to one does not change the other.
printf 'x' | dd of="$MNT/organs/blk_1_ffn_up.bin" bs=1 seek=100000 conv=notrunc status=none
cp "$MNT/organs/blk_1_ffn_up.bin" "$MNT/organs/blk_2_ffn_up.bin"
same "$MNT/organs/blk_2_ffn_up.bin" "$MNT/organs/blk_1_ffn_up.bin"
equal "$(layer_sql "$XDG_STATE_HOME"/organfs/* "SELECT count(*), count(DISTINCT blob) FROM slot
	WHERE kind = 'copy'")" '2|1' 'copies and their blobs'
printf 'y' | dd of="$MNT/organs/blk_2_ffn_up.bin" bs=1 seek=100000 conv=notrunc status=none
differ "$MNT/organs/blk_2_ffn_up.bin" "$MNT/organs/blk_1_ffn_up.bin"
equal "$(dd if="$MNT/organs/blk_1_ffn_up.bin" bs=1 skip=100000 count=1 status=none)" x

# A copy with its time, or of a part, is an ordinary copy; an unfitting organ is refused.
cp -p "$MNT/norm/blk_0_attn_norm.bin" "$MNT/norm/blk_1_attn_norm.bin"
cp -p "$MNT/norm/blk_0_attn_norm.bin" "$TMP/norm.bin"
cmp <(tail -c 16384 "$MNT/norm/blk_1_attn_norm.bin") <(tail -c 16384 "$TMP/norm.bin")
expect_fail 'Invalid argument' cp "$up" "$MNT/organs/blk_0_ffn_gate.bin"
expect_fail 'Invalid argument' cp "$up" "$MNT/norm/blk_0_attn_norm.bin"
python3 - "$MNT/norm/blk_0_attn_norm.bin" "$MNT/norm/part" <<'END'
import os, sys
a, b = os.open(sys.argv[1], os.O_RDONLY), os.open(sys.argv[2], os.O_RDWR | os.O_CREAT)
size = os.fstat(a).st_size
for at, n in ((0, 100), (100, 1000), (1100, size)):
    os.lseek(a, at, 0), os.lseek(b, at, 0)
    while n and (got := os.copy_file_range(a, b, n)):
        n -= got
assert os.pread(b, size + 1, 0) == os.pread(a, size, 0)
END
# Copy the organ onto itself, and from .base.
cp "$MNT/.base/organs/blk_1_ffn_up.bin" "$MNT/organs/blk_1_ffn_up.bin"
cp "$MNT/.base/organs/blk_2_ffn_up.bin" "$MNT/organs/blk_2_ffn_up.bin"
! grep -qE '^organs/blk_[12]_' "$MNT/.grafts" || fail 'not undone'
kill_daemon
mount_model "$TMP/large.gguf"
equal "$(references)" 50 'after a crash'
for n in $(seq 10 59); do
	rm "$MNT/organs/blk_${n}_ffn_up.bin"
done
equal "$(references)" 0 'after rm'
kill -s KILL "${DAEMON[$MNT]}" # without writing 12 GB
wait "${DAEMON[$MNT]}" 2>/dev/null || true
unset "DAEMON[$MNT]"
fusermount3 -uz "$MNT"

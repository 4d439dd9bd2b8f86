#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Readers, a map and an old descriptor, while 200 grafts of two sizes replace a slot in place: each
# sees one whole version, and nothing leaks.
# timeout: 300
. "${0%/*}/../lib.sh"

base=$(use stories260K)
slot=$MNT/organs/blk_1_ffn_up.bin
"$GGUF" organ "$MODELS/stories260K-donor.gguf" blk.1.ffn_up.weight "$TMP/large.bin"
"$GGUF" organ "$MODELS/stories260K-q8_0.gguf" blk.1.ffn_up.weight "$TMP/small.bin"
mount_model "$base"
cp "$slot" "$TMP/first.bin"
cp "$TMP/small.bin" "$slot" # this also opens the layer
cp "$TMP/first.bin" "$slot" # the base's own organ is no graft
before=$(($(descriptors) + 1)) # the last graft has one

# Compare whole copies by name with every possible version.
copier() {
	local copy=$TMP/copy.$1 rounds=0
	while [ ! -e "$TMP/stop" ]; do
		cat "$slot" >"$copy" || exit 1
		cmp -s "$copy" "$TMP/large.bin" || cmp -s "$copy" "$TMP/small.bin" ||
			cmp -s "$copy" "$TMP/first.bin" || exit 1
		rounds=$((rounds + 1))
	done
	[ $rounds -gt 5 ] || exit 1
}

# fstat's size and the bytes of read and a map must belong to one version.
cat >"$TMP/reader.py" <<'END'
import mmap, os, sys
slot, stop, *files = sys.argv[1:]
versions = [open(f, "rb").read() for f in files]
rounds = 0
while not os.path.exists(stop):
    f = os.open(slot, os.O_RDONLY)
    size = os.fstat(f).st_size
    first = os.pread(f, 1 << 20, 0)
    with mmap.mmap(f, size, mmap.MAP_SHARED, mmap.PROT_READ) as m:
        mapped = bytes(m)
    again = os.pread(f, 1 << 20, 0)
    os.close(f)
    if first not in versions or mapped != first or again != first or len(first) != size:
        sys.exit(f"round {rounds}: {size} bytes by fstat, {len(first)} by read, a mix")
    rounds += 1
sys.exit(rounds < 5)
END

# One map and one descriptor from before the first graft are read again and again, without the
# cache.
cat >"$TMP/holder.py" <<'END'
import mmap, os, sys
slot, stop, first = sys.argv[1:]
first = open(first, "rb").read()
f = os.open(slot, os.O_RDONLY)
m = mmap.mmap(f, len(first), mmap.MAP_SHARED, mmap.PROT_READ)
open("held", "w").close()
last = False
while not last:
    last = os.path.exists(stop)
    m.madvise(mmap.MADV_DONTNEED)
    os.posix_fadvise(f, 0, 0, os.POSIX_FADV_DONTNEED)
    if m[:] != first:
        sys.exit("the map changed")
    os.posix_fadvise(f, 0, 0, os.POSIX_FADV_DONTNEED)
    if os.pread(f, 1 << 20, 0) != first or os.fstat(f).st_size != len(first):
        sys.exit("the old descriptor changed")
END

exec 9<"$slot"
python3 "$TMP/holder.py" "$slot" "$TMP/stop" "$TMP/first.bin" &
readers=($!)
until_true 20 test -e "$TMP/held"
for i in 1 2 3 4; do
	copier $i &
	readers+=($!)
	python3 "$TMP/reader.py" "$slot" "$TMP/stop" "$TMP"/{first,large,small}.bin &
	readers+=($!)
done

for i in $(seq "$(rounds 100 5)"); do
	for version in large small; do
		cp "$TMP/$version.bin" "$slot"
		cmp "$slot" "$TMP/$version.bin" || fail "graft $i has other bytes than were written"
		size=$(stat -c %s "$TMP/$version.bin")
		equal "$(stat -c %s "$slot")" "$size" 'size after a graft'
	done
done
touch "$TMP/stop"
for reader in "${readers[@]}"; do
	wait "$reader" || fail "a reader saw a mix, or too little"
done
cmp - "$TMP/first.bin" <&9
exec 9<&-
no_leak "$before"
"$GGUF" relayout "$base" "$MODELS/stories260K-q8_0.gguf" blk.1.ffn_up.weight "$TMP/expected"
same "$MNT/model.gguf" "$TMP/expected"
unmount_and_wait
same "$TMP/stories260K.grafted.gguf" "$TMP/expected"
no_litter "$XDG_STATE_HOME"

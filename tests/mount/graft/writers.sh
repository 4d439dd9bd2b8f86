#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Every way of writing a whole file to a slot is a graft.
. "${0%/*}/../lib.sh"

base=$(use stories260K)
donor=$MODELS/stories260K-donor.gguf
slot=$MNT/organs/blk_0_ffn_up.bin
"$GGUF" organ "$donor" blk.0.ffn_up.weight "$TMP/new"
"$GGUF" organ "$base" blk.0.ffn_up.weight "$TMP/old"
mount_model "$base"

try() {
	echo "$*"
	cp "$TMP/old" "$slot"
	same "$slot" "$TMP/old"
	"$@"
	same "$slot" "$TMP/new"
}

by_redirection() {
	cat "$TMP/new" >"$slot"
}

# Children close a duplicate of the descriptor, before and after the writes. A child that checks
# its close gets the error that this is no organ yet; the last close counts.
by_inherited() {
	exec 3>"$slot"
	true
	(head -c 1000 "$TMP/new" >&3) 2>/dev/null || true
	(tail -c +1001 "$TMP/new" >&3)
	exec 3>&-
}

by_bytes() {
	dd if="$TMP/new" of="$slot" bs=997 status=none
}

backwards() {
	python3 - "$TMP/new" "$slot" <<'END'
import os, sys
new = open(sys.argv[1], "rb").read()
f = os.open(sys.argv[2], os.O_WRONLY | os.O_TRUNC)
for at in reversed(range(0, len(new), 4096)):
    os.pwrite(f, new[at:at + 4096], at)
os.close(f)
END
}

with_fsync() {
	dd if="$TMP/new" of="$slot" bs=64k conv=fsync status=none
}

direct() {
	python3 - "$TMP/new" "$slot" <<'END'
import mmap, os, sys
new = open(sys.argv[1], "rb").read()
buffer = mmap.mmap(-1, (len(new) + 4095) // 4096 * 4096)
buffer.write(new)
f = os.open(sys.argv[2], os.O_WRONLY | os.O_TRUNC | os.O_DIRECT)
os.pwrite(f, memoryview(buffer)[:len(new)], 0)
os.close(f)
END
}

try cp "$TMP/new" "$slot"
try cp -p "$TMP/new" "$slot"
try cp --sparse=always "$TMP/new" "$slot"
try cp --reflink=auto "$TMP/new" "$slot"
try by_redirection
try by_inherited
try by_bytes
try backwards
try with_fsync
try direct

# Times are kept; chmod and chown succeed, and change nothing.
touch -d '2020-02-02 02:02:02' "$TMP/new"
cp -p "$TMP/new" "$slot"
chmod 600 "$slot"
touch "$slot"
cp -p "$TMP/new" "$slot"
equal "$(stat -c %a "$slot")" 644 'mode of the organ'
equal "$(stat -c %y "$slot" | cut -c 1-19)" '2020-02-02 02:02:02' 'time of the organ'
same "$slot" "$TMP/new"
unmount_and_wait
"$GGUF" splice "$base" "$donor" blk.0.ffn_up.weight "$TMP/expected"
same "$TMP/stories260K.grafted.gguf" "$TMP/expected"

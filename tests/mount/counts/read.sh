#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# plain: the calls of the daemon are counted
# alone
# Costs of reading that do not depend on the machine's speed: requests, calls of the daemon and
# bytes that it reads, for 64 MiB scaled to 1 GiB, without passthrough.
. "${0%/*}/../lib.sh"

# Beside other tests the kernel sends RELEASE late, into the next count.
need strace getfattr
need_root # a user's mount has a smaller read-ahead
base=$TMP/base.gguf
"$GGUF" synth "$base" --tensors 20 --vocab 1000 --size 64M --organ 48M --fill
organ=$MNT/organs/blk_0_ffn_up.bin

# read_counted KEY BYTES COMMAND...: scale the counts to 1 GiB.
read_counted() {
	local what=$1 bytes=$2
	shift 2
	trace "$MNT"
	"$@" >/dev/null || fail "$*"
	done_tracing
	at_most "$what: requests" $(($(calls writev write) * (1 << 30) / bytes))
	at_most "$what: preads" $(($(calls pread64 preadv preadv2) * (1 << 30) / bytes))
	at_most "$what: calls" $((n * (1 << 30) / bytes))
	at_most "$what: MiB read" $(($(returned pread64 preadv preadv2) * 1024 / bytes))
}

# pieces LENGTH EVERY FILE: read LENGTH bytes at each multiple of EVERY, in an order of no pattern.
pieces() {
	python3 -c '
import os, random, sys
length, every = int(sys.argv[1]), int(sys.argv[2])
fd = os.open(sys.argv[3], os.O_RDONLY)
places = list(range(0, os.fstat(fd).st_size - every, every))
random.seed(1)
random.shuffle(places)
for place in places:
    assert len(os.pread(fd, length, place)) == length' "$@"
}

touch_pages() {
	python3 -c '
import mmap, os, sys
with open(sys.argv[1], "rb") as file, mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ) as bytes:
    sum(bytes[place] for place in range(0, len(bytes), mmap.PAGESIZE))' "$1"
}

fresh() {
	! mountpoint -q "$MNT" || unmount_and_wait
	mount_model -o ro,passthrough=no,snapshot=no "$base"
	ls -lR "$MNT" >"$TMP/listed"
	read_by daemon "$MNT/model.gguf"
}

cat "$base" >"$TMP/warm"
rm "$TMP/warm"
all=$(stat -c %s "$base")
fresh
need_ahead "$MNT"
read_counted 'model.gguf' "$all" cat "$MNT/model.gguf"
cached read_counted 'model.gguf again' "$all" cat "$MNT/model.gguf"
size=$(stat -c %s "$organ")
read_counted 'an organ' "$size" cat "$organ"
fresh
# The counts are for 1 GiB in reads of 4 KiB.
read_counted 'pieces of 4 KiB' $(((size / 65536) * 4096)) pieces 4096 65536 "$organ"
fresh
read_counted 'an organ that is mapped' "$size" touch_pages "$organ"

# Direct reads have the requested size.
read_counted 'direct reads of 1 MiB' "$size" dd if="$organ" of=/dev/null bs=1M iflag=direct \
	status=none
unmount_and_wait

# In passthrough the daemon opens and closes files, but does not read them.
mount_model -o ro "$base"
if [ "$(way "$MNT/model.gguf")" = passthrough ]; then
	read_counted 'passed through' "$all" cat "$MNT/model.gguf"
fi
unmount_and_wait

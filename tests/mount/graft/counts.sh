#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# What small operations ask of the system, counted: fsync() and calls about files of a graft, and
# requests of a listing.
. "${0%/*}/../lib.sh"

not_sanitized
need strace
disk=$TMP/disk
mount_image ext4 200 "$disk"
unordered=$TMP/unordered
mount_image ext2 100 "$unordered"
trap 'umount -l "$disk" "$unordered" 2>/dev/null || true' EXIT
"$GGUF" small "$TMP/base.gguf" 200
"$GGUF" small "$TMP/donor.gguf" 200 --seed 2
mkdir "$TMP/donor" "$TMP/organs"
mount_model -o ro "$TMP/donor.gguf" "$TMP/donor"
cp "$TMP/donor/organs/"*_ffn_up.bin "$TMP/organs/"

# trace MOUNTPOINT CALLS [INJECTED], then done_tracing: $TMP/calls has a line for each call of the
# daemon.
trace() {
	strace -f -qq -o "$TMP/calls" -p "${DAEMON[$1]}" -e "trace=$2" ${3:+-e "inject=$3"} \
		2>>"$LOGS/strace" &
	TRACER=$!
	until_true 20 is_traced "${DAEMON[$1]}" || skip "no strace here"
}
done_tracing() {
	full_speed
	n=$(grep -vc resumed "$TMP/calls" || true)
}

files=openat,close,unlinkat,mkdirat,mknodat,linkat,renameat,renameat2,readlink,pwrite64,clone3
mount_model -o "layer=$disk/layer" "$TMP/base.gguf"
cp "$TMP"/organs/blk_1[0-9]_ffn_up.bin "$MNT/organs/"
trace "$MNT" fsync,fdatasync
cp "$TMP"/organs/blk_1??_ffn_up.bin "$MNT/organs/" </dev/null
done_tracing
[ "$n" -le 100 ] || fail "$n fsync() for 100 grafts of one cp"
trace "$MNT" $files
cp "$TMP"/organs/blk_1??_ffn_up.bin "$MNT/organs/" </dev/null
done_tracing
echo "$n calls about files for 100 grafts"
[ "$n" -le 4000 ] || fail "$n calls about files for 100 grafts"
trace "$MNT" futex
cp "$TMP"/organs/blk_1??_ffn_up.bin "$MNT/organs/" </dev/null
done_tracing
[ "$n" -le 800 ] || fail "$n calls of threads for each other in 100 grafts of one cp"

trace "$MNT" writev
cp "$TMP"/organs/blk_1??_ffn_up.bin "$MNT/organs/" </dev/null
done_tracing
[ "$n" -le 1800 ] || fail "$n answers for 100 grafts of one cp"

# Eight at once share, on a disk that takes its time.
trace "$MNT" fsync,fdatasync fsync:delay_enter=50000
for k in 2 3 4 5 6 7 8 9; do
	cp "$TMP"/organs/blk_1$k?_ffn_up.bin "$MNT/organs/" </dev/null &
	copies[k]=$!
done
wait "${copies[@]}"
done_tracing
echo "$n fsync() for 80 grafts of eight cp at once"
[ "$n" -lt 60 ] || fail "$n fsync() for 80 grafts of eight cp at once"
equal "$(wc -l <"$MNT/.grafts")" 110
unmount_and_wait

# A key is one as well.
mount_model -o "layer=$disk/layer" "$TMP/base.gguf"
echo one >"$MNT/metadata/test.one"
trace "$MNT" fsync,fdatasync
echo two >"$MNT/metadata/test.two"
done_tracing
[ "$n" -le 1 ] || fail "$n fsync() for a key"
unmount_and_wait

# A listing with attributes needs no look-up where the mount is not written to.
ls -lR "$TMP/donor" >/dev/null
trace "$TMP/donor" read,newfstatat
ls -lR "$TMP/donor" >"$TMP/listed"
done_tracing
equal "$(grep -c '_ffn_.*bin' "$TMP/listed")" 400
[ "$n" -lt 60 ] || fail "$n calls for a listing of 800 files"
unmount_and_wait "$TMP/donor"

# Removals share fsync() also where the disk keeps no order (layer/removals has the rest).
mount_model -o "layer=$unordered/layer" "$TMP/base.gguf"
trace "$MNT" fsync,fdatasync
rm "$MNT"/organs/blk_1??_ffn_up.bin
done_tracing
[ "$n" -lt 60 ] || fail "$n fsync() for 100 removals"
unmount_and_wait
mount_model -o "layer=$unordered/layer" "$TMP/base.gguf"
equal "$(wc -l <"$MNT/.grafts")" 100
unmount_and_wait

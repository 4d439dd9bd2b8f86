#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# plain: the calls of the daemon are counted
# Count fsync(), requests and calls of the daemon for a graft, a removal and a key.
. "${0%/*}/../lib.sh"

need strace
disk=$TMP/disk
mount_image ext4 200 "$disk"
unordered=$TMP/unordered
mount_image ext2 100 "$unordered"
trap 'umount -l "$disk" "$unordered" 2>/dev/null || true' EXIT
"$GGUF" small "$TMP/base.gguf" 200
"$GGUF" small "$TMP/donor.gguf" 200 --seed 2
# The mount has to be visible: in a chroot $TMP may not be, and the daemon then asks each source in
# a thread.
organs=$disk/organs
mkdir "$TMP/donor" "$organs"
mount_model -o ro "$TMP/donor.gguf" "$TMP/donor"
cp "$TMP/donor/organs/"*_ffn_up.bin "$organs/"

files=openat,close,unlinkat,mkdirat,mknodat,linkat,renameat,renameat2,readlink,pwrite64,clone3
mount_model -o "layer=$disk/layer" "$TMP/base.gguf"
cp "$organs"/blk_1[0-9]_ffn_up.bin "$MNT/organs/"
trace "$MNT" fsync,fdatasync
cp "$organs"/blk_1??_ffn_up.bin "$MNT/organs/" </dev/null
done_tracing
at_most '100 grafts by one cp: fsync()' "$n"
trace "$MNT" $files
cp "$organs"/blk_1??_ffn_up.bin "$MNT/organs/" </dev/null
done_tracing
at_most '100 grafts by one cp: calls about files' "$n"
trace "$MNT"
cp "$organs"/blk_1??_ffn_up.bin "$MNT/organs/" </dev/null
done_tracing
at_most '100 grafts by one cp: requests' "$(calls writev write)"
at_most '100 grafts by one cp: calls' "$n"

# Eight concurrent grafts share fsync() on a slow disk.
trace "$MNT" fsync,fdatasync fsync,fdatasync:delay_enter=50000
for k in 2 3 4 5 6 7 8 9; do
	cp "$organs"/blk_1$k?_ffn_up.bin "$MNT/organs/" </dev/null &
	copies[k]=$!
done
wait "${copies[@]}"
done_tracing
at_most '80 grafts by eight cp at once: fsync()' "$n"
equal "$(wc -l <"$MNT/.grafts")" 110
trace "$MNT" fsync,fdatasync
rm "$MNT"/organs/blk_1??_ffn_up.bin
done_tracing
at_most 'rm of 100 organs: fsync()' "$n"
trace "$MNT"
rm "$MNT"/organs/blk_1??_ffn_down.bin
done_tracing
at_most 'rm of 100 organs: requests' "$(calls writev write)"
at_most 'rm of 100 organs: calls' "$n"
unmount_and_wait

# A key has a transaction too.
mount_model -o "layer=$disk/layer" "$TMP/base.gguf"
echo one >"$MNT/metadata/test.one"
trace "$MNT" fsync,fdatasync
echo two >"$MNT/metadata/test.two"
done_tracing
at_most 'a key: fsync()' "$n"
unmount_and_wait

unmount_and_wait "$TMP/donor"

# A disk without write barriers costs no more.
mount_model -o "layer=$unordered/layer" "$TMP/base.gguf"
trace "$MNT" fsync,fdatasync
rm "$MNT"/organs/blk_1??_ffn_up.bin
done_tracing
at_most 'rm of 100 organs where the disk keeps no order: fsync()' "$n"
unmount_and_wait
mount_model -o "layer=$unordered/layer" "$TMP/base.gguf"
equal "$(wc -l <"$MNT/.grafts")" 100
unmount_and_wait

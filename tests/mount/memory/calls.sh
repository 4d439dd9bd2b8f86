#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# plain: the calls of the daemon are counted
# System calls of reads: one read of the base for each kernel request, of the largest size, and a
# few calls more for each 16 MiB.
. "${0%/*}/../lib.sh"
. "${0%/*}/memory.sh"

need_strace
model_on_disk 64M
mount_model -o ro,passthrough=no "$base"
need_ahead "$MNT"
mib=$((pages / 256 + 1))

# count NAME...: number of these calls.
count() {
	awk -v names=" $* " 'index(names, " " $NF " ") { n += $4 } END { print n + 0 }' "$TMP/calls"
}

# calls MAX-READS MAX-ADVICE: count for one read of model.gguf.
calls() {
	local n
	strace -f -c -qq -o "$TMP/calls" -p "${DAEMON[$MNT]}" \
		-e trace=pread64,preadv2,fadvise64,fcntl,mmap 2>"$LOGS/strace" &
	TRACER=$!
	until_true 60 is_traced "${DAEMON[$MNT]}" || late "strace: $(cat "$LOGS/strace")"
	cat "$MNT/model.gguf" >/dev/null
	until_true 10 is_idle
	full_speed
	n=$(count pread64 preadv2)
	[ "$n" -ge $((mib / 2)) ] || fail "only $n reads: $(cat "$TMP/calls")"
	[ "$n" -le "$1" ] || fail "$n reads of $mib MiB, $1 are enough: $(cat "$TMP/calls")"
	n=$(count fadvise64)
	[ "$n" -le "$2" ] || fail "$n times advice for $mib MiB: $(cat "$TMP/calls")"
	n=$(count mmap)
	[ "$n" -le 64 ] || fail "$n maps for $mib MiB: $(cat "$TMP/calls")"
	n=$(count fcntl)
	[ "$n" -le $((mib + 50)) ] || fail "$n looks for other mounts: $(cat "$TMP/calls")"
}

first_look
# Each window is dropped.
calls $((mib * 3 / 2 + 50)) $((mib + 50))
# Pages that were in memory before are not dropped.
"$PAGES" drop "$MNT/model.gguf"
cat "$base" >/dev/null
calls $((mib * 3 / 2 + 50)) 16
unmount_and_wait

# In a user's mount the kernel asks for 128 KiB.
mount_model -o ro,passthrough=no "$base"
echo 128 >"$(ahead_of "$MNT")"
first_look
calls $((mib * 10 + 50)) $((mib + 50))
unmount_and_wait
umount "$TMP/disk"

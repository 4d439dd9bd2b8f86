#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Where a thread of the daemon gets no buffer for requests (RLIMIT_AS), its work is left to the
# others: readers get their bytes or an error, and the mount goes on.
# plain: a sanitizer takes the address space that it needs, or ends the process
. "${0%/*}/../lib.sh"

need prlimit
base=$(use scribe-Q4_K_M)
read_all() {
	local i
	for i in 1 2 3 4 5 6 7 8; do
		(cat "$MNT"/organs/*.bin "$MNT/model.gguf" >/dev/null || true) 2>>"$LOGS/readers" &
		readers+=($!)
	done
	in_time 100 tail -f --pid="${readers[0]}" /dev/null
	wait "${readers[@]}"
	readers=()
}
readers=()
for megabytes in ${SIZES:-$(seq 4 8 160 | some 3)}; do
	mount_model -o noassemble,threads=8 "$base"
	pid=${DAEMON[$MNT]}
	size=$(awk '/^VmSize/ { print $2 }' "/proc/$pid/status")
	prlimit --pid "$pid" --as=$(((size + megabytes * 1024) * 1024)):
	read_all
	prlimit --pid "$pid" --as=unlimited:
	same "$MNT/model.gguf" "$base"
	unmount_and_wait
done

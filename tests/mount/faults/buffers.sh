#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# A thread of the daemon that gets no buffer for requests (RLIMIT_AS) leaves its work to the
# others: readers get their bytes or an error, and the mount goes on.
# plain: a sanitizer takes the address space that it needs, or ends the process
. "${0%/*}/../lib.sh"

need prlimit
base=$(use scribe-Q4_K_M)
# The bytes are right, or the read fails: cmp exits with 2 for an error, with 1 for other bytes.
read_all() {
	local i status readers=()
	for i in 1 2 3 4 5 6 7 8; do
		cmp "$MNT/model.gguf" "$base" >>"$LOGS/readers" 2>&1 &
		readers+=($!)
	done
	for i in "${readers[@]}"; do
		until_true 100 is_gone "$i" || fail 'a reader hangs'
		status=0
		wait "$i" || status=$?
		[[ $status = [02] ]] || fail "other bytes: $(tail -n 1 "$LOGS/readers")"
	done
}
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

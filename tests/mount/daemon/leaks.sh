#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# release: takes memory and time
# Reading everything many times leaves no descriptor and little memory behind.
# alone
. "${0%/*}/../lib.sh"

base=$(use scribe-Q4_K_M)
mount_model "$base"
round() {
	cat "$MNT"/*/*.bin "$MNT/model.gguf" "$MNT/manifest.json" "$MNT/.grafts" >/dev/null
	find "$MNT" -type f -exec getfattr -d -m - {} + >/dev/null 2>&1 || true
	for i in 1 2 3 4 5 6 7 8; do
		cat "$MNT/model.gguf" >/dev/null &
	done
	wait $(jobs -p | grep -v "^${DAEMON[$MNT]}\$")
}
resident() {
	awk '/^RssAnon/ { print $2 }' "/proc/${DAEMON[$MNT]}/status"
}

round
round
before=$(descriptors)
memory=$(resident)
for i in $(seq 20); do
	round
done
no_leak "$before"
case $(nm "$ORGANFS" 2>/dev/null) in
*__asan_* | *__tsan_*) ;; # a sanitizer keeps freed memory
*)
	[ "$(resident)" -lt $((memory + 4096)) ] ||
		fail "$memory KiB resident before, $(resident) KiB after"
	;;
esac
unmount_and_wait

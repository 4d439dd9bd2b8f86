#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# release: takes memory and time
# timeout: 600
# alone
# stress-ng's stressors in a class directory: the daemon survives, answers, leaks neither
# descriptors nor memory, and keeps the model. STRESS sets the seconds of each of two rounds.
. "${0%/*}/../lib.sh"

need stress-ng
nodirs=${ORGANFS%/*}/tests/tools/nodirs.so
[ -e "$nodirs" ] || skip "$nodirs is not built"
base=$(use stories260K)
mkdir "$TMP/links"
mount_model "$base"
# .log differs: it has the refusal of a private file that is no organ.
list=(ls -lA --ignore=.log --time-style=full-iso "$MNT")
"${list[@]}" "$MNT"/*/ >"$TMP/listing"

# Stressors that work on files, each in a directory of its own, which nodirs turns into a link.
# Omitted: filename, dir and, since 0.19, touch, which empty their directory and thus the organs';
# inotify, which leaves its file at its end.
files='access aio chmod chown copy-file dentry dnotify fallocate fcntl fiemap flock fpunch getdent
	inode-flags io-uring iomix lease link lockf mincore open rename revio seek sendfile
	splice sync-file utime xattr'
sizes='--aio-requests 16 --copy-file-bytes 128m --fallocate-bytes 4m --iomix-bytes 4m
	--revio-bytes 4m --seek-size 4m --sendfile-size 1m --sync-file-bytes 4m --hdd-bytes 4m
	--mmap-bytes 4m --readahead-bytes 4m'
stress() {
	local stressor stressors=()
	for stressor in $files; do
		stressors+=("--$stressor" 1)
	done
	# shellcheck disable=SC2086
	LD_PRELOAD=$nodirs NODIRS=$1 timeout 120 stress-ng "${stressors[@]}" $sizes \
		--hdd 1 --mmap 1 --mmap-file --readahead 1 --fstat 2 --fstat-dir "$1" \
		--timeout "${STRESS:-5}" --temp-path "$TMP/links" >"$TMP/said" 2>&1 || true
	grep -q 'successful run\|unsuccessful run' "$TMP/said" || fail "$(tail -n 5 "$TMP/said")"
}
resident() {
	awk '/^RssAnon/ { print $2 }' "/proc/${DAEMON[$MNT]}/status"
}
alive() {
	in_time 20 "${list[@]}" "$MNT"/*/ >"$TMP/now" || fail 'it does not answer'
	diff "$TMP/listing" "$TMP/now" || fail 'another listing'
	in_time 20 cmp "$MNT/model.gguf" "$base" || fail 'another model'
}

stress "$MNT/organs"
alive
before=$(descriptors)
memory=$(resident)
stress "$MNT/organs"
alive
no_leak "$before"
case $(nm "$ORGANFS" 2>/dev/null) in
*__asan_* | *__tsan_*) ;; # a sanitizer keeps freed memory
*)
	[ "$(resident)" -lt $((memory + 8192)) ] ||
		fail "$memory KiB resident before, $(resident) KiB after"
	;;
esac
unmount_and_wait
absent "$TMP/stories260K.grafted.gguf"
no_litter "$XDG_STATE_HOME"

# A read-only mount changes nothing at all.
mount_model -o ro "$base"
"${list[@]}" "$MNT"/*/ >"$TMP/listing"
STRESS=2 stress "$MNT/organs"
alive
unmount_and_wait
same "$base" "$MODELS/stories260K.gguf"

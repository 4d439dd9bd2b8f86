#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# release: takes memory and time
# timeout: 600
# alone
# Other people's stressors in a class directory: the daemon lives, answers, keeps neither
# descriptors nor memory, and the model is what it was. STRESS may be set: seconds of each of the
# two rounds.
. "${0%/*}/../lib.sh"

need stress-ng
nodirs=${ORGANFS%/*}/tests/tools/nodirs.so
[ -e "$nodirs" ] || skip "$nodirs is not built"
base=$(use stories260K)
mkdir "$TMP/links"
mount_model "$base"
# Without .log, which says what was refused: a private file that is no organ.
list=(ls -lA --ignore=.log --time-style=full-iso "$MNT")
"${list[@]}" "$MNT"/*/ >"$TMP/listing"

# What works on files, on one it makes in a directory it makes, which nodirs turns into a link. Not
# filename and dir, and touch since 0.19, which empty the directory they are in, and so the organs'
# too; nor inotify, which leaves its file there when it is ended.
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

# Where nothing can be written, nothing comes of it at all.
mount_model -o ro "$base"
"${list[@]}" "$MNT"/*/ >"$TMP/listing"
STRESS=2 stress "$MNT/organs"
alive
unmount_and_wait
same "$base" "$MODELS/stories260K.gguf"

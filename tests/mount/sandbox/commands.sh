#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# plain: sanitizers open files of their own
# Commands that print: they open no socket, make no file, and read only their arguments.
. "${0%/*}/../lib.sh"

need strace
base=$(use stories260K)
mount_model "$base"
cat "$MNT"/*/.table >"$TMP/table" 2>/dev/null || cat "$MNT"/.table >"$TMP/table"
unmount_and_wait

limits() {
	"$@" >/dev/null 2>"$TMP/said" || fail "$*: $(cat "$TMP/said")"
	strace -f -qq -o "$TMP/calls" -e trace=landlock_restrict_self,seccomp,openat,socket \
		-e signal=none "$@" >/dev/null 2>&1 || fail "$* with a tracer"
	! grep -q 'socket(' "$TMP/calls" || fail "$* opens a socket"
	! grep -E 'openat\(.*O_(WRONLY|RDWR|CREAT)' "$TMP/calls" | grep -v /dev/null ||
		fail "$* opens a file to write"
	grep -q 'SECCOMP_SET_MODE_FILTER.* = 0' "$TMP/calls" || fail "$* has no filter"
	! grep -q 'landlock_restrict_self.* = -1' "$TMP/calls" || fail "$*: $(cat "$TMP/calls")"
}

limits "$ORGANFS" --report "$TMP/table"
limits "$ORGANFS" --picture "$base"
limits "$ORGANFS" --show "$base"
limits "$ORGANFS" --diff "$base" "$MODELS/stories260K-q8_0.gguf"
limits "$ORGANFS" --theta "$base"
limits "$ORGANFS" --check "$base" "$MODELS/stories260K-q8_0.gguf"
limits "$ORGANFS" --npy "$base" output

# The pictured model lies elsewhere, or links lead to its shards, as in caches.
mkdir "$TMP/blobs" "$TMP/links"
cp "$base" "$TMP/blobs/0123"
ln -s ../blobs/0123 "$TMP/links/model.gguf"
"$ORGANFS" --picture "$TMP/links/model.gguf" >"$TMP/linked.svg" || fail 'no picture through a link'
grep -q '<svg' "$TMP/linked.svg" || fail 'no picture'
# The shards lie in different directories.
mkdir "$TMP/one" "$TMP/other"
for i in 1 2 3; do
	shard=stories260K-split-0000$i-of-00003.gguf
	to=$TMP/one
	[ $i != 2 ] || to=$TMP/other
	cp "$MODELS/$shard" "$to"
	ln -s "$to/$shard" "$TMP/links"
done
"$ORGANFS" --picture "$TMP/links/stories260K-split-00001-of-00003.gguf" >"$TMP/shards.svg" \
	2>"$TMP/said" || fail "$(cat "$TMP/said")"
equal "$(cat "$TMP/said")" ''
same "$TMP/shards.svg" <("$ORGANFS" --picture "$MODELS/stories260K-split-00001-of-00003.gguf")
expect_fail 'No such file' "$ORGANFS" --picture "$TMP/absent.gguf"
expect_fail 'No such file' "$ORGANFS" --report "$TMP/absent"

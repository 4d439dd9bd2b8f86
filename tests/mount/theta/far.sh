#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# A measurement reads the sampled spans from the disk, and little around them, so that a remote
# model need not be fetched whole.
. "${0%/*}/../lib.sh"

need fincore
mkdir "$TMP/m"
"$GGUF" synth --tensors 11 --vocab 100 --size 256M --fill "$TMP/whole.gguf"
"$GGUF" split "$TMP/whole.gguf" "$TMP/m/x" 3
sync "$TMP/whole.gguf" "$TMP"/m/*

# Drop the page cache, if the filesystem allows it.
forget() {
	for file; do
		dd if="$file" iflag=nocache count=0 status=none
	done
}
resident() {
	fincore -b -n -o RES "$@" | awk '{ sum += $1 } END { printf "%d\n", sum }'
}
forget "$TMP/whole.gguf" "$TMP"/m/*
[ "$(resident "$TMP/whole.gguf")" -lt 1000000 ] || skip 'the page cache is not let go of here'

# 8 matrices have 390 spans each, in one or two pages; headers and norms are extra.
most=$((8 * 390 * 2 * 4096 + (2 << 20)))
for base in "$TMP/whole.gguf" "$TMP/m/x-00002-of-00003.gguf"; do
	mount_model -o ro "$base"
	cat "$MNT"/*/.theta >"$TMP/table"
	case $base in
	*/whole.gguf) files=("$base") ;;
	*) files=("$TMP"/m/*) ;;
	esac
	bytes=$(resident "${files[@]}")
	[ "$bytes" -gt 1000000 ] || fail "only $bytes bytes were read"
	[ "$bytes" -lt $most ] || fail "$bytes bytes of ${files[*]} were read, not $most"
	unmount_and_wait
done

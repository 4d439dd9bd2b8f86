#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# plain: the calls of the daemon are counted
# Count requests and calls of the daemon for a listing of 2,000 organs, at first and again.
. "${0%/*}/../lib.sh"

need strace
need_root # root's mount differs only in its read-ahead
"$GGUF" small "$TMP/base.gguf" 1000
touch "$TMP/reference"

look_counted() {
	local what=$1
	shift
	trace "$MNT"
	"$@" >"$TMP/listed" || fail "$*"
	done_tracing
	at_most "$what: requests" "$(calls writev write)"
	at_most "$what: calls" "$n"
}

for options in ro rw; do
	mount_model -o "$options,noassemble" "$TMP/base.gguf"
	look_counted "ls -lR, $options" ls -lR "$MNT"
	equal "$(grep -c '_ffn_.*bin' "$TMP/listed")" 2000
	cached look_counted "ls -lR again, $options" ls -lR "$MNT"
	cached look_counted "find -newer again, $options" find "$MNT" -newer "$TMP/reference"
	cached look_counted "du again, $options" du -s "$MNT"
	unmount_and_wait
done

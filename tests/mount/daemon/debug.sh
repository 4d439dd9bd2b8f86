#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# -d and -o debug: organfs stays in the foreground; stderr has the log and every request with its
# answer.
. "${0%/*}/../lib.sh"

base=$(use stories260K)
for flag in -d -odebug; do
	"$ORGANFS" "$flag" "$base" "$MNT" >"$LOGS/debug" 2>&1 </dev/null &
	DAEMON[$MNT]=$!
	until_true 60 is_up "$MNT" || late "$flag: not mounted"
	kill -0 "${DAEMON[$MNT]}" || fail "$flag: not in the foreground"
	cat "$MNT/organs/blk_0_ffn_up.bin" >"$TMP/organ.bin"
	! ls "$MNT/nothing" 2>/dev/null || fail 'there is nothing'
	! cp "$base" "$MNT/organs/blk_1_ffn_up.bin" 2>/dev/null || fail 'a model is no organ'
	unmount_and_wait
	for request in INIT LOOKUP OPEN READ GETATTR CREATE WRITE FLUSH RELEASE; do
		grep -q "opcode: $request " "$LOGS/debug" || [ $request = CREATE ] ||
			fail "$flag: no $request in $(cat "$LOGS/debug")"
	done
	grep -q 'error: -2 (No such file or directory)' "$LOGS/debug" || fail 'no refusal'
	grep -q '^organfs: organs/blk_1_ffn_up.bin: graft refused' "$LOGS/debug" ||
		fail "no log in $(cat "$LOGS/debug")"
	# Every request that needs an answer has exactly one.
	awk '
		/^unique: / && $4 !~ /FORGET/ && !/BATCH_FORGET|INTERRUPT/ { asked[$2]++ }
		/^   unique: / { answered[$2]++ }
		END {
			for (n in asked)
				if (!answered[n]) print "no answer to " n
			for (n in answered)
				if (answered[n] > 1) print "two answers to " n
		}' "$LOGS/debug" >"$TMP/odd"
	[ ! -s "$TMP/odd" ] || fail "$flag: $(cat "$TMP/odd" "$LOGS/debug")"
done

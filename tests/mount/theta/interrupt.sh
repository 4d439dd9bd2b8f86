#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# A process that waits for θ can be interrupted, and a measurement without a waiting process is
# cancelled.
. "${0%/*}/../lib.sh"

"$GGUF" synth "$TMP/large.gguf" --tensors 20 --vocab 10 --size 500G --organ 400G
mount_model -o samples=all "$TMP/large.gguf"
large=$MNT/organs/blk_0_ffn_up.theta
for signal in INT TERM KILL; do
	at_terminal cat "$large" >"$TMP/out" 2>&1 &
	pid=$!
	comes_to_work || late 'nothing is measured'
	# Other processes get their answers meanwhile.
	in_time 30 cat "$MNT/norm/output_norm.theta" "$MNT/norm/blk_0_attn_norm.theta" \
		"$MNT/embed/output_norm.theta" >/dev/null 2>&1 || true
	in_time 30 ls -lR "$MNT" >/dev/null || fail 'ls does not get through'
	kill -s $signal $pid
	until_true 60 is_gone $pid || fail "$signal does not end the cat"
	wait $pid 2>/dev/null || true
	until_true 60 is_idle || fail "measuring goes on after $signal"
done
# A report of all tensors waits for that one too.
cat "$MNT/.report.json" >"$TMP/out" 2>&1 &
pid=$!
comes_to_work || late 'nothing is measured'
in_time 30 stat "$MNT/.report.json" >/dev/null || fail 'stat does not get through'
kill $pid
until_true 60 is_gone $pid || fail 'the report cannot be interrupted'
wait $pid 2>/dev/null || true
until_true 60 is_idle || fail 'measuring for the report goes on'
# If two processes wait for one result, one can leave, and the other goes on waiting.
cat "$large" >/dev/null 2>&1 &
first=$!
cat "$large" >/dev/null 2>&1 &
second=$!
comes_to_work || late 'nothing is measured'
kill $first
wait $first 2>/dev/null || true
comes_to_work || late 'one left and the work stopped for the other'
kill $second
wait $second 2>/dev/null || true
until_true 60 is_idle || fail 'measuring goes on'
# Enough readers to take every thread wait when the mount ends.
for _ in $(seq 40); do
	cat "$large" >/dev/null 2>&1 &
done
comes_to_work || late 'nothing is measured'
in_time 30 ls -lR "$MNT" >/dev/null || fail 'ls does not get through'
in_time 30 cat "$MNT/organs/blk_1_ffn_up.bin" | head -c 1000 >/dev/null
kill -s TERM "${DAEMON[$MNT]}"
wait_daemon
wait

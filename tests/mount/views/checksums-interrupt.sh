#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# A process that waits for a hash can be interrupted, and a hash without a waiting process is
# cancelled.
. "${0%/*}/../lib.sh"

need getfattr
"$GGUF" synth "$TMP/large.gguf" --tensors 20 --vocab 10 --size 500G --organ 400G
mount_model "$TMP/large.gguf"
# The last line of gguf-hash.xxh64 is one hash of 500 GB.
last=$(stat -c %s "$MNT/.views/gguf-hash.xxh64")
for signal in INT TERM KILL; do
	for reader in "cat $MNT/checksums.xxh128" "cat $MNT/.views/gguf-hash.xxh64" \
		"getfattr -n user.organfs.xxh128 $MNT/organs/blk_0_ffn_up.bin" \
		"dd if=$MNT/.views/gguf-hash.xxh64 bs=1 skip=$((last - 25))"; do
		# shellcheck disable=SC2086
		at_terminal $reader >"$TMP/out" 2>&1 &
		pid=$!
		comes_to_work || late "$reader: nothing is hashed"
		# Other processes get their answers meanwhile, θ too.
		in_time 60 cat "$MNT"/norm/*.theta "$MNT/embed/output_norm.theta" >/dev/null ||
			fail 'θ does not get through'
		in_time 60 ls -lR "$MNT" >/dev/null || fail 'ls does not get through'
		kill -s $signal $pid
		until_true 60 is_gone $pid || fail "$signal does not end $reader"
		wait $pid 2>/dev/null || true
		until_true 60 is_idle || fail "hashing goes on after $signal to $reader"
	done
done
# If two processes wait for one hash, one can leave, and the other goes on waiting.
for file in checksums.xxh128 .views/gguf-hash.xxh64; do
	cat "$MNT/$file" >/dev/null 2>&1 &
	first=$!
	cat "$MNT/$file" >/dev/null 2>&1 &
	second=$!
	comes_to_work || late 'nothing is hashed'
	kill $first
	wait $first 2>/dev/null || true
	comes_to_work || late 'one left and the work stopped for the other'
	kill $second
	wait $second 2>/dev/null || true
	until_true 60 is_idle || fail 'hashing goes on'
done
# The hash is computed in chunks: an organ of 400 GB takes no memory.
case $(nm "$ORGANFS" 2>/dev/null) in
*__asan_* | *__tsan_*) ;;
*)
	resident=$(awk '/^RssAnon/ { print $2 }' "/proc/${DAEMON[$MNT]}/status")
	[ "$resident" -lt 32768 ] || fail "$resident KiB resident"
	;;
esac
# Enough readers to take every thread wait when the mount ends.
for _ in $(seq 20); do
	cat "$MNT/checksums.xxh128" >/dev/null 2>&1 &
	cat "$MNT/.views/gguf-hash.xxh64" >/dev/null 2>&1 &
done
comes_to_work || late 'nothing is hashed'
in_time 60 ls -lR "$MNT" >/dev/null || fail 'ls does not get through'
in_time 60 cat "$MNT/organs/blk_1_ffn_up.bin" | head -c 1000 >/dev/null
kill -s TERM "${DAEMON[$MNT]}"
wait_daemon
wait

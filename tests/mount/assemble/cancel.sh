#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# timeout: 300
# During an assembly .assemble shows the progress. A process that waits for it can be interrupted,
# whichever way the bytes come; so can a process that waits for another assembly.
. "${0%/*}/../lib.sh"

"$GGUF" synth "$TMP/large.gguf" --tensors 20 --vocab 10 --size 150M
size=$(stat -c %s "$TMP/large.gguf")
mkdir "$TMP/out"

# Start as from a terminal: a shell makes background processes ignore Ctrl-C.
assemble_to() {
	exec python3 -c 'import os, signal, sys
signal.signal(signal.SIGINT, signal.SIG_DFL)
with open(sys.argv[1], "wb", buffering=0) as f:
	f.write(sys.argv[2].encode())' "$MNT/.assemble" "$1" 2>/dev/null
}

line='^assembling: [0-9]+\.[0-9] %, [0-9]+ of '$size' bytes, [0-9]+ MB/s, ([0-9]+|\?) s left: '
under_way() {
	grep -Eq "$line" "$MNT/.assemble"
}
done_so_far() {
	sed -n 's/^assembling: .* %, \([0-9]*\) of .*/\1/p' "$MNT/.assemble"
}
# Release one piece of the write, then check the progress.
is_beyond() {
	hold
	[ "$(done_so_far)" -gt "$1" ]
}
has_ended() {
	hold
	! under_way
}

mount_held pwrite64 -o noassemble "$TMP/large.gguf"
hold
for signal in INT TERM KILL; do
	assemble_to "$TMP/out/new.gguf" &
	writer=$!
	until_true 60 under_way || late "no progress: $(cat "$MNT/.assemble")"
	grep -q "new.gguf$" "$MNT/.assemble" || fail "$(cat "$MNT/.assemble")"
	until_true 60 is_beyond "$(done_so_far)" || late 'no progress'
	in_time 10 ls -lR "$MNT" >/dev/null || fail 'ls does not get through'
	kill -s $signal $writer
	until_true 60 has_ended || fail 'it goes on'
	wait $writer 2>/dev/null && fail "the writer was not told"
	assembly_says 'failed: .*new\.gguf: interrupted'
	equal "$(ls -A "$TMP/out")" '' 'what is left of it'
done
release
unmount_and_wait

# While one process assembles, a waiting one is interrupted.
mount_held pwrite64 -o noassemble "$TMP/large.gguf"
hold
assemble_to "$TMP/out/first.gguf" &
first=$!
until_true 60 under_way || late 'no progress'
assemble_to "$TMP/out/second.gguf" &
second=$!
until_true 60 wait_inside $second || late 'the second writer does not wait'
kill -s INT $second
wait $second 2>/dev/null && fail 'the second writer was not told'
under_way || fail 'the second writer had to wait for the first'
kill $first
until_true 60 has_ended || fail 'it goes on'
wait $first 2>/dev/null && fail 'the first writer was not told'
equal "$(ls -A "$TMP/out")" '' 'what is left'
release
unmount_and_wait
rm "$TMP/large.gguf"

# Waiting writers are served in turn.
base=$(use stories260K)
mount_model "$base"
for i in 1 2 3 4; do
	echo "$TMP/out/$i.gguf" >"$MNT/.assemble" &
done
wait $(jobs -p | grep -vx "${DAEMON[$MNT]}")
for i in 1 2 3 4; do
	same "$TMP/out/$i.gguf" "$base"
done
unmount_and_wait

#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# plain: LeakSanitizer does not work under strace
# During a long assembly a waiting process sees the progress and may leave; other processes wait
# too; the end of a killed daemon is noticed.
. "${0%/*}/../lib.sh"

need script
with_umount_helper
"$GGUF" synth --tensors 11 --vocab 100 --size 64M "$TMP/large.gguf"
base=$TMP/large.gguf
mkdir "$TMP/out"
mount -t tmpfs -o size=200m tmpfs "$TMP/out"
out=$TMP/out/new.gguf

# Mount and graft, with an assembly that ends when the test releases it.
graft() {
	mount_held pwrite64 -o "output=$out" "$base"
	echo "$1" >"$MNT/metadata/general.name"
	cp "$MNT/model.gguf" "$TMP/expected"
	hold
}

# Release a call that comes before the file.
is_writing() {
	hold
	ls -A "$TMP/out" | grep -q '\.part$'
}

# Print the shown percentages, one a line.
percents() {
	tr '\r' '\n' <"$TMP/typescript" | sed -n 's/^large: \([0-9]*\) %.*/\1/p'
}

# Release one piece of the write.
has_shown_speed() {
	hold
	[ "$(percents | sort -u | wc -l)" -ge 3 ] &&
		grep -Eq ' MB/s, [0-9]+:[0-9]{2} left' "$TMP/typescript"
}

# On a terminal a line grows, and the outcome follows.
graft one
: >"$TMP/typescript"
script -qefc "umount '$MNT'" "$TMP/typescript" >/dev/null </dev/null &
until_true 60 has_shown_speed || late "shown: $(cat -v "$TMP/typescript")"
release
wait $! || fail "umount on a terminal: $(cat -v "$TMP/typescript")"
same "$out" "$TMP/expected"
wait_daemon
percents | sort -n -c || fail "it goes back: $(percents)"
tr '\r' '\n' <"$TMP/typescript" >"$TMP/lines"
grep -Eq '^large: [0-9]+ %, [0-9]+ of 6[0-9] MB' "$TMP/lines" || fail "$(cat "$TMP/lines")"
grep -q "^assembled: $out: " "$TMP/lines" || fail "no outcome: $(cat "$TMP/lines")"

# The waiting process is killed, or leaves: the daemon goes on. Two others wait to the end. All ask
# before any unmounts, each in a child.
all_ask() {
	local pid
	for pid; do
		[ -n "$(children_of "$pid")" ] || return 1
	done
}

graft two
stop "${DAEMON[$MNT]}"
"$HELPER" "$MNT" >"$TMP/first" 2>&1 &
first=$!
"$HELPER" "$MNT" >"$TMP/second" 2>&1 &
second=$!
"$HELPER" "$MNT" >"$TMP/killed" 2>&1 &
killed=$!
"$HELPER" "$MNT" >"$TMP/left" 2>&1 &
left=$!
until_true 60 all_ask $first $second $killed $left || late 'they do not ask'
kill -CONT "${DAEMON[$MNT]}"
until_true 60 is_waiting $killed || late "does not wait: $(cat "$TMP/killed")"
until_true 60 is_waiting $left || late "does not wait: $(cat "$TMP/left")"
kill -9 $killed
kill -TERM $left
status=0
wait $left || status=$?
equal $status 130 "exit status of who leaves: $(cat "$TMP/left")"
grep -q 'goes on by itself' "$TMP/left" || fail "who leaves says: $(cat "$TMP/left")"
release
wait $first || fail "the first says: $(cat "$TMP/first")"
wait $second || fail "the second says: $(cat "$TMP/second")"
same "$out" "$TMP/expected"
equal "$(cat "$TMP/first" "$TMP/second")" ''
wait_daemon

# The daemon is killed: umount names the place of the grafts, and the next mount has them.
cp "$out" "$TMP/old"
graft three
umount "$MNT" >"$TMP/said" 2>&1 &
until_true 60 is_writing || late 'nothing is written'
kill -9 "${DAEMON[$MNT]}"
status=0
wait $! || status=$?
equal $status 1 "exit status: $(cat "$TMP/said")"
grep -q 'the daemon ended without finishing' "$TMP/said" || fail "umount: $(cat "$TMP/said")"
layer=$(sed -n 's/.* the grafts are kept in //p' "$TMP/said")
equal "$(layer_sql "$layer" 'SELECT name, text FROM key')" 'general.name|three' 'the grafts there'
same "$out" "$TMP/old"
release
unset "DAEMON[$MNT]"
mount_model -o "output=$out" "$base"
equal "$(cat "$MNT/metadata/general.name")" three
umount "$MNT"
same "$out" "$TMP/expected"
equal "$(ls -A "$TMP/out")" new.gguf
wait_daemon

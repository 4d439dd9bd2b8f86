#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# A stopped reader (Ctrl-Z, debugger, freezer) gets its data when it is continued, however long it
# was stopped; so does a writer of .assemble, and a process whose child ends meanwhile. A stopped
# reader can be killed.
# timeout: 120
. "${0%/*}/../lib.sh"

need perl
serve_file=${ORGANFS%/*}/tests/tools/serve-file
[ -x "$serve_file" ] || skip 'no serve-file'
base=$(use stories260K)
mkdir "$TMP/server"
"$serve_file" "$base" "$TMP/server" >>"$LOGS/server" 2>&1 </dev/null &
server=$!
until_true 60 mountpoint -q "$TMP/server" || late 'no server'
mount_model -o "noassemble,samples=all" "$TMP/server/${base##*/}"
cat "$MNT/organs/blk_1_ffn_up.theta" >/dev/null
"$GGUF" organ "$base" blk.0.ffn_down.weight "$TMP/expected"

stop "$server"
organ=$MNT/organs/blk_0_ffn_down.bin
# Make one call, which is not restarted, unlike in many programs.
cat >"$TMP/call.pl" <<'END'
use Fcntl;
if ($ARGV[0] eq 'job') {
	shift;
	$SIG{CHLD} = sub { };
	fork or exec("sleep", 1000);
}
my ($what, $path, $text) = @ARGV;
my ($n, $got);
if ($what eq 'read') {
	sysopen(my $file, $path, O_RDONLY | O_DIRECT) or die "$path: $!";
	$n = sysread($file, $got, 1 << 20);
} else {
	sysopen(my $file, $path, O_WRONLY) or die "$path: $!";
	$n = syswrite($file, $text);
}
defined $n or die "$path: $!";
print $got if $what eq 'read';
END
perl "$TMP/call.pl" read "$organ" >"$TMP/is" 2>"$TMP/said" &
reader=$!
perl "$TMP/call.pl" read "$MNT/organs/blk_0_ffn_up.theta" >"$TMP/theta" 2>"$TMP/said.theta" &
measurer=$!
perl "$TMP/call.pl" write "$MNT/.assemble" "$TMP/out.gguf" 2>"$TMP/said.assemble" &
assembler=$!
perl "$TMP/call.pl" job read "$MNT/organs/blk_1_ffn_down.bin" >"$TMP/is.job" 2>"$TMP/said.job" &
with_job=$!
perl "$TMP/call.pl" job write "$MNT/.assemble" "$TMP/job.gguf" 2>"$TMP/said.job2" &
with_job2=$!
dd if="$MNT/organs/blk_2_ffn_up.bin" of=/dev/null bs=1M iflag=direct status=none 2>/dev/null &
killed=$!
python3 - "$MNT/organs/blk_3_ffn_up.bin" <<'END' &
import os, signal, sys

class Alarm(Exception):
    pass

def ring(number, frame):
    raise Alarm

signal.signal(signal.SIGALRM, ring)
try:
    # open() may wait here already.
    file = os.open(sys.argv[1], os.O_RDONLY | os.O_DIRECT)
    os.preadv(file, [memoryview(bytearray(1 << 20))], 0)
except Alarm:
    sys.exit(0)
sys.exit('it was not interrupted')
END
alarmed=$!
until_true 60 wait_inside $reader $measurer $assembler $with_job $with_job2 $killed $alarmed ||
	late 'a process does not wait'

# The kernel has sent the interrupt, and the daemon has considered it.
is_told() {
	local pid state
	for pid in $reader $measurer $assembler $with_job $with_job2; do
		read -r _ _ state _ <"/proc/$pid/stat"
		[ "$state" = D ] || return 1
	done
	sleeps "${DAEMON[$MNT]}" && sleeps "${DAEMON[$MNT]}"
}
has_children() {
	[ -n "$(children_of $with_job)" ] && [ -n "$(children_of $with_job2)" ]
}
until_true 60 has_children || late 'a job has not begun'
kill -STOP $reader $measurer $assembler $killed
kill $(children_of $with_job) $(children_of $with_job2)
kill -ALRM $alarmed
until_true 60 is_told || late 'the signals do not arrive'
kill -KILL $killed
until_true 60 is_gone $killed || fail 'who is stopped cannot be killed'
wait $alarmed || fail 'a signal with a handler does not interrupt'
kill -CONT $reader $measurer $assembler
kill -CONT "$server"
wait $reader || fail "the reader has: $(cat "$TMP/said")"
wait $measurer || fail "the reader of theta has: $(cat "$TMP/said.theta")"
wait $assembler || fail "the writer of .assemble has: $(cat "$TMP/said.assemble")"
wait $with_job || fail "the reader whose child ended has: $(cat "$TMP/said.job")"
wait $with_job2 || fail "the writer whose child ended has: $(cat "$TMP/said.job2")"
same "$TMP/is" "$TMP/expected"
same "$TMP/is.job" "$MNT/organs/blk_1_ffn_down.bin"
same "$TMP/job.gguf" "$base"
same "$TMP/theta" "$MNT/organs/blk_0_ffn_up.theta"
same "$TMP/out.gguf" "$base"
unmount_and_wait
kill "$server"
wait "$server" 2>/dev/null || true

#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# A process that waits for the pass over merged tensors can be interrupted, and a pass without a
# waiting process is cancelled; the unmount does not wait for it either.
. "${0%/*}/../lib.sh"

for name in base one other; do
	"$GGUF" synth "$TMP/$name.gguf" --tensors 20 --vocab 10 --size 500G --organ 400G
done
mount_model -o noassemble "$TMP/base.gguf"
cat >"$TMP/config.yml" <<END
merge_method: ties
base_model: $TMP/base.gguf
models:
- model: $TMP/one.gguf
- model: $TMP/other.gguf
parameters:
  weight: 0.5
  density: 0.5
END
in_time 30 cp "$TMP/config.yml" "$MNT/.merge" || fail "the merge is refused: $(cat "$MNT/.log")"
large=$MNT/organs/blk_0_ffn_up

# interrupted SIGNAL COMMAND...: it waits, the signal ends it, and the daemon's work ends too.
interrupted() {
	local signal=$1 pid
	shift
	at_terminal "$@" >"$TMP/out" 2>&1 &
	pid=$!
	comes_to_work || late "$*: the tensor is not looked at: $(cat "$TMP/out")"
	# Other processes get their answers meanwhile.
	in_time 30 ls -lR "$MNT" >/dev/null || fail 'ls does not get through'
	kill -s "$signal" $pid
	until_true 60 is_gone $pid || fail "$signal does not end $*"
	wait $pid 2>/dev/null || true
	until_true 60 is_idle || fail "the work goes on after $signal to $*"
}

for signal in INT KILL; do
	interrupted $signal cat "$large.theta"
	interrupted $signal dd if="$large.bin" of=/dev/null bs=64K iflag=direct
done
# The kernel does not interrupt its read-ahead, but the reader ends, and so does the mount.
for _ in $(seq 40); do
	cat "$large.bin" "$MNT/model.gguf" >/dev/null 2>&1 &
	pid=$!
done
comes_to_work || late 'the tensor is not looked at'
in_time 30 ls -lR "$MNT" >/dev/null || fail 'ls does not get through'
kill $pid
until_true 60 is_gone $pid || fail 'a cat does not end'
kill -s TERM "${DAEMON[$MNT]}"
wait_daemon
wait

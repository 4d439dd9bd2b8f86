#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# organfs returns when the mount is ready, and the unmount at once; the daemon writes, then ends.
. "${0%/*}/../lib.sh"

base=$(use scribe-Q4_K_M)
donor=$(use clerk-Q4_K_M)
"$GGUF" organ "$donor" blk.0.ffn_up.weight "$TMP/organ.bin"
"$GGUF" splice "$base" "$donor" blk.0.ffn_up.weight "$TMP/expected"
mount_daemon "$base" "$MNT"
pid=${DAEMON[$MNT]}
equal "$(readlink "/proc/$pid/cwd")" / 'working directory of the daemon'
for fd in 0 1 2; do
	equal "$(readlink "/proc/$pid/fd/$fd")" /dev/null "descriptor $fd of the daemon"
done
cp "$TMP/organ.bin" "$MNT/organs/blk_0_ffn_up.bin"
unmount_and_wait
same "$TMP/scribe-Q4_K_M.grafted.gguf" "$TMP/expected"

# SIGTERM unmounts.
mount_model "$base"
cp "$TMP/organ.bin" "$MNT/organs/blk_0_ffn_up.bin"
kill -TERM "${DAEMON[$MNT]}"
wait_daemon
! mountpoint -q "$MNT" || fail 'still mounted'
same "$TMP/scribe-Q4_K_M.grafted-2.gguf" "$TMP/expected"

# An unmount right after organfs has returned never finds the mount busy.
for _ in $(seq 20); do
	mount_daemon "$base" "$MNT"
	fusermount3 -u "$MNT" || fail 'busy right after the start'
	wait_daemon
done

# A signal to the command during the daemon's start ends it without a mount. The daemon's first
# write tells that it is ready.
[ -x "$FAULTY" ] || skip "$FAULTY is not built"
hold
ORGANFS_FAULT=write:1:hold+:$TMP/held ORGANFS_FAULT_LOG=$TMP/arrived \
	"$FAULTY" -o noassemble,layer="$TMP/layer" "$base" "$MNT" &
command=$!
until_true 60 have_arrived 1 || late 'the daemon is not ready'
is_mounted_at "$MNT" || fail 'not mounted yet'
kill -TERM $command
release
status=0
wait $command || status=$?
equal $status 143 'exit status after SIGTERM'
! is_mounted_at "$MNT" || fail 'a mount stays'

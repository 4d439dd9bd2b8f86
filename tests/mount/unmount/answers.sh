#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# plain: LeakSanitizer does not work under strace
# A signal ends the mount while a graft is made durable. Its late answer is to a process that is
# gone, and never goes to a descriptor number closed meanwhile, which a file of the layer could
# have.
. "${0%/*}/../lib.sh"

need_strace
need_root
base=$(use stories260K)
mount_model "$base"
pid=${DAEMON[$MNT]}
umounter=$(children_of "$pid")
strace -f -qq -o "$TMP/calls" -p "$pid" -p "$umounter" -e trace=fsync,umount2,writev \
	-e inject=fsync:delay_enter=500000 -e inject=umount2:delay_enter=6000000 \
	2>>"$LOGS/strace" &
TRACER=$!
until_true 60 is_traced "$pid" || late "strace: $(tail -n 1 "$LOGS/strace")"

printf 'new' 2>/dev/null >"$MNT/metadata/general.name" &
until_true 60 grep -q 'fsync(' "$TMP/calls" || late 'nothing is made durable'
kill -TERM "$pid"
wait $! || true
wait_daemon
full_speed
grep -q 'umount2(' "$TMP/calls" || skip 'the daemon has another program unmount'
# The commit ended before the mount.
grep -q 'writev(.*EBADF' "$TMP/calls" || fail "no answer came late: $(cat "$TMP/calls")"
! grep 'writev([0-9].*EBADF' "$TMP/calls" || fail 'a descriptor is written to that was closed'

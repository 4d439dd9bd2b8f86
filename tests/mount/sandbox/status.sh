#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# When the command returns, the daemon has given up capabilities, new privileges, system calls and
# access to its memory; its end needs no more than the rest.
. "${0%/*}/../lib.sh"

base=$(use stories260K)
filtered=2
! grep -q '__[at]san_init' "$ORGANFS" || filtered=0

# field: a field of /proc/PID/status of $MNT's daemon.
field() {
	sed -n "s/^$1:[[:space:]]*//p" "/proc/${DAEMON[$MNT]}/status"
}

mount_daemon "$base" "$MNT"
equal "$(field NoNewPrivs)" 1 'no new privileges'
equal "$(field Seccomp)" "$filtered" 'a filter of system calls'
equal "$(awk '/^Max core file size/ { print $5, $6 }' "/proc/${DAEMON[$MNT]}/limits")" '0 0'
grep -q organ "$MNT/manifest.json" || fail 'no manifest'
if [ "$(id -u)" = 0 ]; then
	# CHOWN, DAC_OVERRIDE, DAC_READ_SEARCH, FOWNER, SETGID, SETUID, SYS_PTRACE, SYS_ADMIN.
	for set in CapPrm CapEff CapBnd; do
		more=$((0x$(field $set) & ~0x2800cf))
		equal "$more" 0 "$set beyond the needed ones"
	done
	equal "$(field CapInh)$(field CapAmb)" "$(printf '%032d' 0)" 'inheritable and ambient'
fi
umounter=$(children_of "${DAEMON[$MNT]}")
[ -n "$umounter" ] || fail 'no process to unmount'
# The process that unmounts holds neither the mount nor a file, and has a name of its own.
equal "$(ls "/proc/$umounter/fd" | wc -l)" 4 'descriptors of the process that unmounts'
! tr '\0' ' ' <"/proc/$umounter/cmdline" | grep -q "$MNT" || fail 'it is taken for the daemon'

# A signal ends the mount, and with it the process that unmounts.
kill -TERM "${DAEMON[$MNT]}"
wait_daemon
! mountpoint -q "$MNT" || fail 'still mounted'
until_true 60 is_gone "$umounter" || fail 'the process that unmounts is left'

# The daemon's helper does not unmount another process's mount in the same place.
mount_model "$base"
umounter=$(children_of "${DAEMON[$MNT]}")
stop "${DAEMON[$MNT]}"
fusermount3 -uz "$MNT"
first=${DAEMON[$MNT]}
mount_model -o ro "$base"
kill -CONT "$first"
until_true 60 is_gone "$first" || fail 'the first daemon stays'
mountpoint -q "$MNT" || fail "another's mount is gone"

# A killed daemon leaves only its mount.
umounter=$(children_of "${DAEMON[$MNT]}")
kill_daemon
until_true 60 is_gone "$umounter" || fail 'the process that unmounts outlives the daemon'

# Without CAP_SYS_ADMIN there is no passthrough.
[ "$(id -u)" != 0 ] || {
	mount_model -o passthrough=no "$base"
	equal "$((0x$(field CapEff) & 0x200000))" 0 CAP_SYS_ADMIN
	unmount_and_wait
}

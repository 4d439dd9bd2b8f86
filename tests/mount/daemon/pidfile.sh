#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# -o pidfile= names the daemon from the command's return to the daemon's end.
. "${0%/*}/../lib.sh"

base=$(use stories260K)
mkdir "$TMP/run"
cd "$TMP"
echo 1 >run/organfs.pid
"$ORGANFS" -o noassemble,pidfile=run/organfs.pid "$base" "$MNT"
pid=$(cat run/organfs.pid)
equal "$pid" "$(daemon_of "$MNT")" 'process number'
fusermount3 -u "$MNT"
until_true 60 is_gone "$pid" || fail 'the daemon stays'
equal "$(ls -A run)" '' 'pid file of a daemon that has ended'

# An unwritable file prevents the mount.
expect_fail '/none/organfs\.pid: .*No such file' \
	"$ORGANFS" -o noassemble,pidfile=none/organfs.pid "$base" "$MNT"
! mountpoint -q "$MNT" || fail 'mounted without its pid file'
# The daemon removes its pid file, so a path of something else is refused.
cp "$base" model.gguf
expect_fail '/model\.gguf: .*pidfile=' \
	"$ORGANFS" -o noassemble,pidfile=model.gguf "$base" "$MNT"
cmp "$base" model.gguf
mkfifo pipe
expect_fail '/pipe: ' "$ORGANFS" -o noassemble,pidfile=pipe "$base" "$MNT"
[ -p pipe ] || fail 'the pipe is gone'
! mountpoint -q "$MNT" || fail 'mounted with a foreign pid file'
expect_fail 'confine and pidfile=' "$ORGANFS" -o confine,pidfile=run/organfs.pid "$base" "$MNT"

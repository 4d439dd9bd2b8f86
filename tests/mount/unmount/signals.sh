#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The first signal unmounts; the next one cancels the assembly: the target is unchanged, the grafts
# are kept, the log tells where, and the exit status is 1.
. "${0%/*}/../lib.sh"

need_root
"$GGUF" synth --tensors 11 --vocab 100 --size 80M "$TMP/large.gguf"
base=$TMP/large.gguf
mkdir "$TMP/out"
mount -t tmpfs -o size=200m tmpfs "$TMP/out"
trap 'umount -l "$TMP/out"' EXIT
out=$TMP/out/new.gguf
echo old >"$out"

# The thread that receives signals writes to no disk, so it is not held.
begins_to_write() {
	until_true 60 have_arrived 1 || late "$1: nothing is written"
	ls -A "$TMP/out" | grep -q '\.part$' || fail "$1: no file"
}

has_given_up() {
	grep -q 'assembly cancelled' "$LOGS/${MNT##*/}"
}

# given_up FIRST SECOND: the signal that ends the mount, and the one during the assembly.
given_up() {
	local pid status=0
	: >"$LOGS/${MNT##*/}"
	mount_held sync_file_range -o "output=$out" "$base"
	pid=${DAEMON[$MNT]}
	echo "$2" >"$MNT/metadata/general.name"
	hold
	if [ "$1" = unmount ]; then
		fusermount3 -u "$MNT"
	else
		kill "-$1" "$pid"
	fi
	begins_to_write "$1"
	kill "-$2" "$pid"
	until_true 60 has_given_up || fail "$2 is not heard: $(cat "$LOGS/${MNT##*/}")"
	release
	wait "$pid" || status=$?
	unset "DAEMON[$MNT]"
	equal $status 1 "exit status after $1 and $2: $(cat "$LOGS/${MNT##*/}")"
	! mountpoint -q "$MNT" || fail 'still mounted'
	equal "$(cat "$out")" old
	equal "$(ls -A "$TMP/out")" new.gguf
	layer=$(sed -n 's/.* the grafts are kept in \(.*\) for the next.*/\1/p' \
		"$LOGS/${MNT##*/}")
	equal "$(layer_sql "$layer" 'SELECT name, text FROM key')" "general.name|$2" "$layer"
}

given_up TERM TERM
given_up INT TERM
given_up unmount TERM

# An assembly requested by a process is cancelled as well.
: >"$LOGS/${MNT##*/}"
mount_held sync_file_range "$base"
hold
{ echo "!$out" >"$MNT/.assemble"; } 2>/dev/null &
begins_to_write .assemble
pid=${DAEMON[$MNT]}
kill -TERM "$pid"
until_true 60 eval '! mountpoint -q "$MNT"' || fail 'SIGTERM does not unmount'
kill -TERM "$pid"
until_true 60 has_given_up || fail 'the second signal is not heard'
release
wait "$pid" || true
unset "DAEMON[$MNT]"
wait
equal "$(cat "$out")" old
equal "$(ls -A "$TMP/out")" new.gguf

# Without a second signal the kept grafts are written.
mount_model -o "output=$out" "$base"
equal "$(cat "$MNT/metadata/general.name")" TERM
cp "$MNT/model.gguf" "$TMP/expected"
kill -TERM "${DAEMON[$MNT]}"
wait_daemon
same "$out" "$TMP/expected"
no_litter "$XDG_STATE_HOME"

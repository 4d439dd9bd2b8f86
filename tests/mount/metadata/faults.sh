#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# timeout: 1800
# Edits of metadata on a disk that fails, or with a daemon that dies, at each of its calls in turn:
# a refused edit has changed nothing, and the next mount shows exactly the confirmed edits.
#
# FAULTS=all tries every call, else a sample; FAULTS='EIO 17' tries that one.
. "${0%/*}/../lib.sh"

faulty=${ORGANFS%/*}/tests/tools/organfs-faults
[ -x "$faulty" ] || skip "$faulty is not built"
edits=$here/../tools/faults_metadata.py
base=$(use stories260K)

# try K FAULT: run the edits; false if they make fewer than K calls.
try() {
	local status=0 what="call $1, $2" call
	rm -rf "${XDG_STATE_HOME:?}"/* "$TMP/state" "$TMP/fault"
	ORGANFS_FAULT=any:$1:$2 ORGANFS_FAULT_LOG=$TMP/fault \
		"$faulty" -f -o noassemble "$base" "$MNT" >>"$LOGS/mnt" 2>&1 </dev/null &
	DAEMON[$MNT]=$!
	until_true 60 is_up "$MNT" || late "$MNT is not mounted after 60 s"
	if mountpoint -q "$MNT"; then
		in_time 60 python3 "$edits" "$MNT" "$TMP/state" >"$TMP/said" 2>&1 || status=$?
		call=$(head -n 1 "$TMP/fault" 2>/dev/null) || true
		what="$what (${call:-none})"
		[ $status = 0 ] || [ $status-$2 = 3-kill ] ||
			fail "$what: $(tail -n 1 "$TMP/said")"
		kill_daemon
		mount_model -o noassemble "$base"
		python3 "$edits" "$MNT" "$TMP/state" --check >"$TMP/said" 2>&1 ||
			fail "$what, the next mount: $(cat "$TMP/said"); $(cat "$MNT/.log")"
		unmount_and_wait
		[ -n "$call" ]
		return
	fi
	[ -s "$TMP/fault" ] || fail "not mounted: $(tail -n 3 "$LOGS/mnt")"
	fusermount3 -uz "$MNT" 2>/dev/null || true
	wait "${DAEMON[$MNT]}" 2>/dev/null || true
	unset "DAEMON[$MNT]"
}

case ${FAULTS-} in
'' | all) ;;
*)
	# shellcheck disable=SC2086
	set -- $FAULTS
	try "$2" "$1" || fail 'there are fewer calls'
	exit 0
	;;
esac
step=$(every 11)
for what in EIO ENOSPC kill; do
	k=$((1 + RANDOM % step))
	while try $k $what; do
		k=$((k + step))
	done
	echo "$what: up to call $k"
done

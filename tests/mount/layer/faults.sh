#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# timeout: 3600
# The disk fails at each of its calls in turn: the daemon survives, a refused edit has changed
# nothing, and the next mount shows exactly the confirmed edits. Then the daemon dies at that call:
# the interrupted edit is absent or complete.
#
# FAULTS=all tries every call, else a sample; FAULTS='EIO 17' tries that one.
. "${0%/*}/../lib.sh"

faulty=${ORGANFS%/*}/tests/tools/organfs-faults
[ -x "$faulty" ] || skip "$faulty is not built"
faults=$here/../tools/faults.py
edits=$here/../tools/edits.py
base=$(use stories260K)
donor=$(use stories260K-donor)
mount_model -o ro "$donor" "$TMP/donor"
mkdir "$TMP/files"
cp "$TMP/donor/organs/"blk_[12]_ffn_up.bin "$TMP/files"

# with_fault K FAULT OPTIONS: mount on the failing disk. Fails if the mount does.
with_fault() {
	rm -f "$TMP/fault"
	ORGANFS_FAULT=any:$1:$2 ORGANFS_FAULT_LOG=$TMP/fault \
		"$faulty" -f -o "$3" "$base" "$MNT" >>"$LOGS/mnt" 2>&1 </dev/null &
	DAEMON[$MNT]=$!
	until_true 60 is_up "$MNT" || late "$MNT is not mounted after 60 s"
	mountpoint -q "$MNT"
}

# The fault came before the mount: no mount exists, and nothing is lost.
no_mount() {
	[ -s "$TMP/fault" ] || fail "not mounted: $(tail -n 3 "$LOGS/mnt")"
	fusermount3 -uz "$MNT" 2>/dev/null || true
	wait "${DAEMON[$MNT]}" 2>/dev/null || true
	unset "DAEMON[$MNT]"
}

# Compare the next mount with the confirmed state.
check_next() {
	mount_model -o noassemble,blocks=keep "$base"
	python3 "$edits" "$MNT" "$TMP/donor" "$TMP/state" --check >"$TMP/said" 2>&1 ||
		fail "$1, the next mount: $(tail -n 1 "$TMP/said"); $(cat "$MNT/.log")"
	unmount_and_wait
}

# try K FAULT: run the edits; false if they make fewer than K calls.
try() {
	local status=0 what="call $1, $2" call
	rm -rf "${XDG_STATE_HOME:?}"/* "$TMP/state"
	if ! with_fault "$1" "$2" noassemble,blocks=keep; then
		no_mount
		return 0
	fi
	in_time 60 python3 "$faults" "$MNT" "$TMP/donor" "$TMP/state" >"$TMP/said" 2>&1 || status=$?
	call=$(head -n 1 "$TMP/fault" 2>/dev/null) || true
	what="$what (${call:-none})"
	[ $status = 0 ] || [ $status-$2 = 3-kill ] || fail "$what: $(tail -n 1 "$TMP/said")"
	case $2-$(($1 % 2)) in
	kill-* | *-0) kill_daemon ;;
	*) unmount_and_wait ;; # LeakSanitizer checks here
	esac
	check_next "$what"
	[ -n "$call" ]
}

# try_assembly K FAULT: like try, for the assembly at the unmount and the calls around it.
try_assembly() {
	local what="call $1, $2, of an assembly" call
	rm -rf "${XDG_STATE_HOME:?}"/* "$TMP"/*.grafted*.gguf
	cp -r "$TMP/layer/." "$XDG_STATE_HOME/"
	cp "$TMP/layer-state" "$TMP/state"
	if with_fault "$1" "$2" blocks=keep; then
		# Another test's process that lists all mounts may be in it.
		until_true 20 fusermount3 -q -u "$MNT" || fail "$what: it is busy"
		until_true 60 is_gone "${DAEMON[$MNT]}" || fail "$what: the daemon stays"
	fi
	no_mount_or_end
	call=$(head -n 1 "$TMP/fault" 2>/dev/null) || true
	what="$what (${call:-none})"
	if [ -e "$TMP/stories260K.grafted.gguf" ]; then
		cmp "$TMP/expected" "$TMP/stories260K.grafted.gguf" || fail "$what: a wrong model"
		[ -n "$call" ] || no_litter "$XDG_STATE_HOME"
	else
		check_next "$what"
	fi
	[ -n "$call" ]
}

no_mount_or_end() {
	fusermount3 -uz "$MNT" 2>/dev/null || true
	wait "${DAEMON[$MNT]}" 2>/dev/null || true
	unset "DAEMON[$MNT]"
}

# each FUNCTION FAULT STEP: call FUNCTION for calls from the first to the last one reached.
each() {
	local k=$((1 + RANDOM % $3))
	while "$1" $k "$2"; do
		k=$((k + $3))
	done
	echo "$1 $2: up to call $k"
}

case ${FAULTS-} in
'' | all) ;;
*)
	# shellcheck disable=SC2086
	set -- $FAULTS
	try "$2" "$1" || fail 'there are fewer calls'
	unmount_and_wait "$TMP/donor"
	exit 0
	;;
esac
step=$(every 31)
for what in EIO ENOSPC kill; do
	each try $what $step
done

# Make two edits, and assemble the model from them.
rm -rf "${XDG_STATE_HOME:?}"/* "$TMP/state"
mount_model -o noassemble,blocks=keep "$base"
python3 "$faults" "$MNT" "$TMP/donor" "$TMP/state"
cp "$MNT/model.gguf" "$TMP/expected"
unmount_and_wait
cp -r "$XDG_STATE_HOME" "$TMP/layer"
cp "$TMP/state" "$TMP/layer-state"
for what in EIO ENOSPC kill; do
	each try_assembly $what "$(every 9)"
done
unmount_and_wait "$TMP/donor"

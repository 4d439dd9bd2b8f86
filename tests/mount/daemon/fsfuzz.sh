#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# timeout: 300
# Random system calls of several processes agree with a model (tests/tools/fsfuzz), also after a
# kill of the daemon: every change that close() confirmed is there, and no half change. LONG sets
# the seconds, as `make check-long` does, and SEED the first seed.
. "${0%/*}/../lib.sh"

fsfuzz=${ORGANFS%/*}/tests/tools/fsfuzz/fsfuzz
[ -x "$fsfuzz" ] || skip "$fsfuzz is not built"
base=$(use stories260K)
seconds=4
[ -z "${LONG:-}" ] || seconds=30
rounds=$(((${LONG:-$(rounds 16 8)} + seconds - 1) / seconds))
processes=3
seed=${SEED:-1}
state=$TMP/state.fsfuzz
layer=layer=$TMP/layer

# Read the model's content with another program.
mount_model -o ro "$base"
"$GGUF" check-mount "$base" "$MNT"
for class in skeleton organs embed norm; do
	mkdir -p "$TMP/base/$class"
	cp "$MNT/$class"/*.bin "$TMP/base/$class/"
done
unmount_and_wait

# A find prints more than the shown tail of a failed test: print only the operations on the last
# one's file.
run() {
	local file status=0
	"$fsfuzz" --seed "$1" --seconds "$2" --processes "$processes" --state "$state" --patience \
		60 "$MNT" "$TMP/base" >"$TMP/found" 2>&1 || status=$?
	if [ $status = 1 ]; then
		file=$(grep -oE '[a-z]+/[a-z0-9_]+\.bin' "$TMP/found" | tail -n 1) || true
		head -n -12 "$TMP/found" | grep -F -- "${file:-no file}" | tail -n 10
		tail -n 12 "$TMP/found"
	fi
	return $status
}

check() {
	"$fsfuzz" --check --processes "$processes" --state "$state" "$MNT" "$TMP/base" ||
		fail "round $1, seed $seed: see above; .log says: $(tail -n 5 "$MNT/.log")"
}

options=(threads=4 compress=off passthrough=no threads=1 confine compress=9)
for ((round = 0; round < rounds; round++)); do
	mount_model -o "$layer,${options[round % ${#options[@]}]}" "$base"
	[ $round = 0 ] || check $round
	status=0
	if [ $((round % 2)) = 0 ]; then
		# The daemon is killed at any moment.
		run $((seed + round)) 1000 &
		fuzzer=$!
		sleep "$((RANDOM % (seconds + 1))).$((RANDOM % 10))$((RANDOM % 10))"
		# The unmount comes later, because nothing must be made in the directory beneath.
		kill -9 "${DAEMON[$MNT]}"
		wait $fuzzer || status=$?
		wait "${DAEMON[$MNT]}" 2>/dev/null || true
		unset "DAEMON[$MNT]"
		fusermount3 -uz "$MNT"
		equal $status 3 "seed $((seed + round)): fsfuzz beside a daemon that is killed"
	else
		run $((seed + round)) "$seconds" || status=$?
		equal $status 0 "seed $((seed + round)): fsfuzz, .log: $(tail -n 5 "$MNT/.log")"
		check $round
		unmount_and_wait
	fi
done

mount_model -o "$layer" "$base"
check "$rounds"
! grep -q 'left alone' "$MNT/.log" || fail "$(cat "$MNT/.log")"
echo all >"$MNT/.undo"
equal "$(cat "$MNT/.grafts")" ''
same "$MNT/model.gguf" "$base"
unmount_and_wait
same "$base" "$MODELS/stories260K.gguf"

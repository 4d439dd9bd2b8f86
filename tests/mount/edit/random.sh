#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# timeout: 200
# Hundreds of random edits agree with a simple model, and after each kill of the daemon the next
# mount shows exactly the confirmed edits. EDITS, KILLS, SEED, MODEL and OTHER may be set.
. "${0%/*}/../lib.sh"

need rsync
model=${MODEL:-stories260K} other=${OTHER:-stories260K-donor}
base=$(use "$model")
donor=$(use "$other")
edits=$here/../tools/edits.py
seed=${SEED:-1}
echo "seed $seed"
mount_model -o ro "$donor" "$TMP/donor"
mount_model "$base"
# The first listing reads the organs' times, by a descriptor that stays.
ls -l "$MNT/norm" >/dev/null
before=$(descriptors)
python3 "$edits" "$MNT" "$TMP/donor" "$TMP/state" "$seed" "${EDITS:-300}"
# The layer has one descriptor, and each copy in force has one.
ls -lRa "$MNT" >/dev/null
no_leak $((before + 1 + $(grep -cE '	(copy|link)	' "$MNT/.grafts")))

for round in $(seq "${KILLS:-$(rounds 12 3)}"); do
	python3 "$edits" "$MNT" "$TMP/donor" "$TMP/state" $((seed * 1000 + round)) 100000 \
		>"$TMP/said" 2>&1 &
	editor=$!
	sleep "0.$((RANDOM % 9))$((RANDOM % 10))"
	kill_daemon
	status=0
	wait $editor || status=$?
	# 135: SIGBUS during the read of a map of model.gguf.
	[[ $status =~ ^(1|3|135)$ ]] || fail "the editor: $status, $(cat "$TMP/said")"
	! grep -q AssertionError "$TMP/said" || grep -qi 'not connected\|exit' "$TMP/said" ||
		fail "$(cat "$TMP/said")"
	mount_model "$base"
	python3 "$edits" "$MNT" "$TMP/donor" "$TMP/state" --check ||
		fail "round $round: $(cat "$TMP/said"); $(cat "$MNT/.log")"
	! grep -q 'left alone' "$MNT/.log" || fail "$(cat "$MNT/.log")"
done
# Undo everything, and edit again.
python3 "$edits" "$MNT" "$TMP/donor" "$TMP/state" --restore
same "$MNT/model.gguf" "$base"
rm "$TMP/state"
python3 "$edits" "$MNT" "$TMP/donor" "$TMP/state" "$((seed + 1))" 50
# Added blocks, and blocks removed whole, may leave gaps, which are not assembled.
for file in "$MNT"/organs/blk_*.bin; do
	[ -e "$MNT/.base/organs/${file##*/}" ] || rm "$file"
done
for file in "$MNT"/.base/organs/*.bin; do
	[ -e "$MNT/organs/${file##*/}" ] || cp "$file" "$MNT/organs/"
done
cp "$MNT/model.gguf" "$TMP/last.gguf"
unmount_and_wait
unmount_and_wait "$TMP/donor"
same "$TMP/$model.grafted.gguf" "$TMP/last.gguf"
no_litter "$XDG_STATE_HOME"

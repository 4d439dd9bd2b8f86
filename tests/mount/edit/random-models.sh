#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# plain: killed processes report nothing
# timeout: 200
# Random edits of a model whose donor is in the same mount agree with a simple model, also after a
# kill of the daemon. EDITS, SEED, MODEL and OTHER may be set.
. "${0%/*}/../lib.sh"

need rsync
model=${MODEL:-stories260K} other=${OTHER:-stories260K-donor}
base=$(use "$model")
donor=$(use "$other")
edits=$here/../tools/edits.py
seed=${SEED:-1}
echo "seed $seed"
mkdir "$TMP/models"
mv "$base" "$donor" "$TMP/models"
mount_model -o noassemble "$TMP/models"
one=$MNT/$model two=$MNT/$other
python3 "$edits" "$one" "$two" "$TMP/state" "$seed" "${EDITS:-150}"
! grep -q '	copy	' "$two/.grafts" || fail "$(cat "$two/.grafts")"
# Other seeds may have replaced every reference by now.
[ "$seed" != 1 ] || grep -q '	reference	' "$one/.grafts" ||
	fail "no reference in $(cat "$one/.grafts")"
kill_daemon
mount_model -o noassemble "$TMP/models"
python3 "$edits" "$one" "$two" "$TMP/state" --check
python3 "$edits" "$one" "$two" "$TMP/state" --restore
same "$one/model.gguf" "$TMP/models/$model.gguf"
same "$two/model.gguf" "$TMP/models/$other.gguf"
unmount_and_wait

#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# timeout: 200
# Random edits of a model whose donor is in the same mount agree with a simple model of them, and so
# they do after the daemon was killed. EDITS and SEED may be set.
. "${0%/*}/lib.sh"

need rsync
base=$(use stories260K)
donor=$(use stories260K-donor)
edits=$here/../tools/edits.py
seed=${SEED:-1}
echo "seed $seed"
mkdir "$TMP/models"
mv "$base" "$donor" "$TMP/models"
mount_model -o noassemble "$TMP/models"
one=$MNT/stories260K two=$MNT/stories260K-donor
python3 "$edits" "$one" "$two" "$TMP/state" "$seed" "${EDITS:-150}"
! grep -q '	copy	' "$two/.grafts" || fail "$(cat "$two/.grafts")"
grep -q '	reference	' "$one/.grafts" || fail "no reference in $(cat "$one/.grafts")"
kill_daemon
mount_model -o noassemble "$TMP/models"
python3 "$edits" "$one" "$two" "$TMP/state" --check
python3 "$edits" "$one" "$two" "$TMP/state" --restore
same "$one/model.gguf" "$TMP/models/stories260K.gguf"
same "$two/model.gguf" "$TMP/models/stories260K-donor.gguf"
unmount_and_wait

#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# plain: sanitizers need memory of their own
# release: takes memory and time
# The daemon's own memory stays under 16 MB with a large model.
# alone
. "${0%/*}/../lib.sh"

"$GGUF" synth "$TMP/big.gguf"
mount_model -o ro "$TMP/big.gguf"
ls -lR "$MNT" >/dev/null
head -c 200000000 "$MNT/model.gguf" >/dev/null
cat "$MNT/manifest.json" >/dev/null
resident=$(awk '/^RssAnon/ { print $2 }' "/proc/${DAEMON[$MNT]}/status")
[ "$resident" -lt 16384 ] || fail "$resident KiB resident"
# Read beyond 4 GiB, and at the very end.
size=$(stat -c %s "$TMP/big.gguf")
equal "$(stat -c %s "$MNT/model.gguf")" "$size"
same <(tail -c 5000000 "$MNT/model.gguf") <(tail -c 5000000 "$TMP/big.gguf")
printf 'in the middle' | dd of="$TMP/last" bs=13 status=none
unmount_and_wait

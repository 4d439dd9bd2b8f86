#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# -s: one thread answers, and nothing it waits for waits for it: measured files, grafts by copy and
# by link within the mount and into another single-threaded one, assembly.
# timeout: 180
. "${0%/*}/../lib.sh"

one=$(use scribe-Q4_K_M)
two=$(use clerk-Q4_K_M)
mkdir "$TMP/two"
single() {
	"$ORGANFS" -f -s "$1" "$2" >>"$LOGS/${2##*/}" 2>&1 </dev/null &
	DAEMON[$2]=$!
	until_true 60 is_up "$2" && mountpoint -q "$2" || late "$2 is not mounted"
}
within() {
	in_time 60 "$@" || fail "status $? of $*"
}
single "$one" "$MNT"
single "$two" "$TMP/two"

# Slow and quick requests come at once.
within cat "$MNT/theta.svg" >"$TMP/theta.svg" &
slow=$!
within cat "$MNT/manifest.json" >"$TMP/manifest.json"
within find "$MNT" "$TMP/two" -size +1000000 >/dev/null
wait $slow
within cat "$MNT/.theta" "$MNT/organs/.theta" >/dev/null
within cat "$MNT/checksums.xxh128" >/dev/null
within cmp "$MNT/model.gguf" "$one"

# Grafts come by copy between mounts, by links within one and between two that link to each other.
within cp "$TMP/two/organs/blk_1_ffn_up.bin" "$MNT/organs/"
within cp "$MNT/organs/blk_2_ffn_up.bin" "$MNT/organs/blk_3_ffn_up.bin"
within ln -sf "$MNT/organs/blk_0_ffn_up.bin" "$MNT/organs/blk_4_ffn_up.bin"
within ln -sf "$TMP/two/organs/blk_0_ffn_gate.bin" "$MNT/organs/"
within ln -sf "$MNT/organs/blk_1_ffn_gate.bin" "$TMP/two/organs/"
within cmp "$MNT/organs/blk_0_ffn_gate.bin" "$TMP/two/organs/blk_0_ffn_gate.bin"
within cmp "$TMP/two/organs/blk_1_ffn_gate.bin" "$MNT/organs/blk_1_ffn_gate.bin"
readers=()
for i in 1 2 3 4 5; do
	within cat "$MNT/organs/blk_${i}_ffn_gate.theta" "$MNT/.check" "$MNT/.grafts" >/dev/null &
	readers+=($!)
done
within cat "$MNT/model.gguf" >"$TMP/model.gguf"
for reader in "${readers[@]}"; do
	wait "$reader"
done
within sh -c 'echo "$1" >"$2/.assemble"' sh "$TMP/assembled.gguf" "$MNT"
same "$TMP/assembled.gguf" "$TMP/model.gguf"
# The link's target is removed first.
cp "$MNT/.base/organs/blk_0_ffn_gate.bin" "$MNT/organs/"
unmount_and_wait
exists "$TMP/scribe-Q4_K_M.grafted.gguf"
cp --remove-destination "$TMP/two/.base/organs/blk_1_ffn_gate.bin" "$TMP/two/organs/"
unmount_and_wait "$TMP/two"

#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# More shards than a process may have open files; and a model of 10^12 weights in 13 shards.
# timeout: 300
. "${0%/*}/../lib.sh"

giant=$here/../tools/giant.py
mkdir "$TMP/ones" "$TMP/kimi"
"$giant" ones "$TMP/ones/ones" 1100
(
	ulimit -n 1024
	mount_model -o ro "$TMP/ones/ones-00700-of-01100.gguf"
	daemon=${DAEMON[$MNT]}
	equal "$(ls "$MNT/organs" | wc -l)" 2200
	equal "$(grep -c . "$MNT/organs/.theta")" 1101
	cat "$MNT/organs"/*.bin | wc -c >"$TMP/bytes"
	equal "$(cat "$TMP/bytes")" \
		$((1100 * (64 * 8 * 4 + 28) + 10 * 19 + 90 * 20 + 900 * 21 + 100 * 22))
	"$GGUF" organs "$MNT/model.gguf" >"$TMP/listed"
	equal "$(wc -l <"$TMP/listed")" 1100
	# Many processes read in any order.
	printf '%s\n' "$MNT"/organs/*.bin | shuf --random-source=/bin/ls |
		xargs -P 16 -n 20 cat >/dev/null || fail 'read by many'
	open=$(ls "/proc/$daemon/fd" | wc -l)
	[ "$open" -lt 600 ] || fail "$open files are open"
	unmount_and_wait
)

"$giant" kimi "$TMP/kimi/kimi"
mount_model -o ro "$TMP/kimi/kimi-00005-of-00013.gguf"
status=/proc/${DAEMON[$MNT]}/status
size=$(stat -c %s "$MNT/model.gguf")
[ "$size" -gt $((1 << 39)) ] || fail "model.gguf has $size bytes"
equal "$size" "$("$GGUF" organs "$MNT/model.gguf" | awk -F '\t' '$4 + $5 > n { n = $4 + $5 }
	END { printf "%.0f\n", n }')"
ls -lR "$MNT" >"$TMP/listed"
equal "$(grep -c '\.bin$' "$TMP/listed")" 1096
equal "$(stat -c %s "$MNT/organs/blk_60_ffn_up_exps.bin")" $((7168 * 2048 * 384 / 256 * 144 + 61))
equal "$(stat -f -c %b "$MNT")" "$(stat -f -c %b "$TMP/kimi")"
grep -q 'model experts        384, 8 used' "$MNT/.theta" || fail "$(head -n 12 "$MNT/.theta")"
grep -q '^model parameters     1026408232448$' "$MNT/.theta" || fail "$(head -n 4 "$MNT/.theta")"
# The last bytes lie beyond 2^39.
tail -c 100 "$MNT/model.gguf" | cmp - <(tail -c 100 "$TMP/kimi/kimi-00013-of-00013.gguf") ||
	fail 'the end of model.gguf'
case $ORGANFS in
*/plain/*)
	high=$(awk '/^VmHWM/ { print $2 }' "$status")
	[ "$high" -lt 49152 ] || fail "$high kB resident"
	;;
esac
unmount_and_wait

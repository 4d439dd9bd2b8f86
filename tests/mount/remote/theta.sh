#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# θ of a remote model of 3 GB reads less than 2 % of it, and a listing of the tree next to nothing.
# timeout: 600
. "${0%/*}/../lib.sh"

mkdir "$TMP/www"
"$GGUF" synth "$TMP/www/big.gguf" --size 3G --tensors 300 --vocab 30000
size=$(stat -c %s "$TMP/www/big.gguf")
[ "$size" -gt 3000000000 ] || fail "the model has $size bytes"
serve_www
sent() {
	awk '{ sum += $2 } END { print sum + 0 }' "$REQUESTS"
}

mount_model -o ro "$URL/big.gguf"
ls -lR "$MNT" >/dev/null
head -c 100 "$MNT/organs/blk_3_ffn_up.bin" >/dev/null
[ "$(sent)" -lt 4000000 ] || fail "$(sent) bytes were read before θ"
cat "$MNT/.theta" >"$TMP/remote"
unmount_and_wait
until_true 20 test "$(wc -l <"$REQUESTS")" -gt 1000
end_server
read=$(sent)
echo "read for θ: $read of $size bytes"
[ $((read * 50)) -lt "$size" ] || fail "$read bytes of $size were read"

mount_model -o ro "$TMP/www/big.gguf"
same "$MNT/.theta" "$TMP/remote"
unmount_and_wait

#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# An organ of a remote model in another model is a reference, which a later mount resolves again,
# and which is broken if the server has another model.
. "${0%/*}/../lib.sh"

mkdir "$TMP/www"
cp "$MODELS/scribe-Q4_K_M.gguf" "$TMP/www/scribe.gguf"
clerk=$(use clerk-Q4_K_M)
serve_ranges
# mount_both MODEL...: mount with the layers of the earlier mount.
mount_both() {
	"$ORGANFS" -f -o "layer=$TMP/layer" "$@" "$MNT" >>"$LOGS/both" 2>&1 </dev/null &
	DAEMON[$MNT]=$!
	until_true 20 is_up "$MNT"
	exists "$MNT/.log"
}

mount_both "$URL/good/scribe.gguf" "$clerk"
cp "$MNT/scribe/organs/blk_4_ffn_up.bin" "$MNT/clerk-Q4_K_M/organs/"
cp "$MNT/clerk-Q4_K_M/model.gguf" "$TMP/chimera"
kill_daemon
equal "$(layer_sql "$TMP/layer/clerk-Q4_K_M" 'SELECT class, name, kind FROM slot')" \
	'organs|blk_4_ffn_up|reference'

# The base is a file; the mount connects to the server all the same.
mount_model -o "layer=$TMP/layer/clerk-Q4_K_M" "$clerk"
serve_ranges_again
same "$MNT/model.gguf" "$TMP/chimera"
unmount_and_wait

cp "$MODELS/clerk-Q4_K_M.gguf" "$TMP/www/scribe.gguf"
mount_model -o "layer=$TMP/layer/clerk-Q4_K_M" "$clerk"
grep -q broken "$MNT/.grafts" || fail "not broken: $(cat "$MNT/.grafts")"
unmount_and_wait
end_server

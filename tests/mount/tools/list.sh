#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# ls, find, du, df and stat show true sizes, kinds and space.
. "${0%/*}/../lib.sh"

base=$(use stories260K)
mount_model "$base"
ls -lR "$MNT" >"$TMP/listing" 2>"$TMP/errors" || fail "$(cat "$TMP/errors")"
[ ! -s "$TMP/errors" ] || fail "$(cat "$TMP/errors")"
equal "$(grep -c '\.bin$' "$TMP/listing")" 48 'organs listed'
equal "$(find "$MNT" -name '*.bin' -type f | wc -l)" 48 'organs found'
for directory in skeleton organs embed norm; do
	[ -d "$MNT/$directory" ] || fail "$directory is no directory"
done
# Adapters can be linked there; before the first one the directory is empty.
[ -d "$MNT/adapters" ] || fail 'adapters is no directory'
! ls -A "$MNT" | grep -qx adapters || fail 'adapters is listed'
absent "$MNT/other"
absent "$MNT/nonsense"
absent "$MNT/organs/nonsense.bin"
absent "$MNT/organs/blk_0_attn_q.bin"

# st_size equals the number of bytes read.
find "$MNT" -type f ! -name .log | while read -r file; do
	equal "$(stat -c %s "$file")" "$(wc -c <"$file")" "size of $file"
done
# An organ takes its own space, and the model, with the same bytes, takes none.
find "$MNT" -name '*.bin' -printf '%b %s %p\n' | while read -r blocks size file; do
	[ $((blocks * 512)) -ge "$size" ] || fail "$file looks sparse: $blocks blocks, $size bytes"
	[ $((blocks * 512)) -le $((size + 65536)) ] || fail "$file: $blocks blocks, $size bytes"
done
equal "$(stat -c %b "$MNT/model.gguf")" 1 'blocks of model.gguf'
used=$(($(du -sk "$MNT" | cut -f 1) * 1024))
size=$(stat -c %s "$base")
[ $used -ge $((size * 9 / 10)) ] && [ $used -le $((size * 3 / 2)) ] ||
	fail "du says $used bytes, the model has $size"
df "$MNT" >/dev/null
[ "$(stat -f -c %b "$MNT")" -gt 0 ] || fail 'a file system without blocks'
links=$(stat -c %h "$MNT/organs/blk_0_ffn_up.bin" "$MNT/embed/token_embd.bin" | xargs)
equal "$links" '2 1' 'links of an organ that blocks/0 has too, and of one in no block'
[ "$(stat -c %Y "$MNT/organs")" = "$(stat -c %Y "$base")" ] ||
	fail 'a directory is not as old as its model'
# stat works with a cold cache, and for any form of a path.
equal "$(stat -c %s "$MNT/organs/../organs/./blk_0_ffn_up.bin")" \
	"$(stat -c %s "$MNT/organs/blk_0_ffn_up.bin")"
unmount_and_wait

#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# A model on an HTTP server behaves like one on disk: bytes, θ, grafts, assembly, layer.
. "${0%/*}/../lib.sh"

mkdir "$TMP/www" "$TMP/work"
cp "$MODELS/scribe-Q4_K_M.gguf" "$TMP/www/a scribe.gguf"
clerk=$(use clerk-Q4_K_M)
serve_www
cd "$TMP/work"
url="$URL/a%20scribe.gguf"

# The tree is the same, byte for byte.
mount_model -o views=listed "$url"
mkdir "$TMP/file"
mount_model -o ro,views=listed "$TMP/www/a scribe.gguf" "$TMP/file"
same "$MNT/model.gguf" "$TMP/www/a scribe.gguf"
same "$MNT/checksums.xxh128" "$TMP/file/checksums.xxh128"
same "$MNT/.table" "$TMP/file/.table"
same "$MNT/organs/blk_3_ffn_up.bin" "$TMP/file/organs/blk_3_ffn_up.bin"
same "$MNT/.views/npy/organs/blk_3_ffn_up.npy" "$TMP/file/.views/npy/organs/blk_3_ffn_up.npy"
same "$MNT/metadata/tokenizer.ggml.tokens" "$TMP/file/metadata/tokenizer.ggml.tokens"
"$GGUF" check-mount --grafted "$TMP/www/a scribe.gguf" "$MNT"
equal "$(findmnt -n -o SOURCE "$MNT")" "$url" 'the source of the mount'

# The bytes have no local path.
! getfattr -n user.organfs.extent "$MNT/organs/blk_3_ffn_up.bin" 2>/dev/null ||
	fail 'there is an extent'
getfattr -n user.organfs.tensor "$MNT/organs/blk_3_ffn_up.bin" >/dev/null

# Grafts are in the layer: they survive a crash, and belong to the URL.
mkdir "$TMP/donor"
mount_model -o ro "$clerk" "$TMP/donor"
cp "$TMP"/donor/organs/blk_{1,2}_ffn_*.bin "$MNT/organs/"
same "$MNT/organs/blk_2_ffn_up.bin" "$TMP/donor/organs/blk_2_ffn_up.bin"
cp "$MNT/model.gguf" "$TMP/chimera"
kill_daemon
mount_model -o noassemble "$TMP/www/a scribe.gguf"
equal "$(wc -l <"$MNT/.grafts")" 0 'grafts onto the file itself'
unmount_and_wait
mount_model "$url"
equal "$(wc -l <"$MNT/.grafts")" 6 'grafts that were taken up'
same "$MNT/model.gguf" "$TMP/chimera"

# The unmount writes to the working directory of organfs.
unmount_and_wait
same 'a scribe.grafted.gguf' "$TMP/chimera"
equal "$(ls)" 'a scribe.grafted.gguf' 'files in the directory'

# The remote model is the donor of a reference in a mount of two.
cp "$TMP/www/a scribe.gguf" "$TMP/scribe.gguf"
"$ORGANFS" -f -o "output=$TMP/work" "$url" "$clerk" "$MNT" >"$LOGS/two" 2>&1 </dev/null &
DAEMON[$MNT]=$!
until_true 20 is_up "$MNT"
exists "$MNT/a scribe/model.gguf"
cp "$MNT/a scribe/organs/blk_4_ffn_up.bin" "$MNT/clerk-Q4_K_M/organs/"
same "$MNT/clerk-Q4_K_M/organs/blk_4_ffn_up.bin" "$TMP/file/organs/blk_4_ffn_up.bin"
unmount_and_wait
"$GGUF" splice "$clerk" "$TMP/scribe.gguf" blk.4.ffn_up.weight "$TMP/expected"
same clerk-Q4_K_M.grafted.gguf "$TMP/expected"

# Commands without a mount work too.
"$ORGANFS" --picture "$url" >"$TMP/remote.svg"
"$ORGANFS" --picture "$TMP/www/a scribe.gguf" >"$TMP/file.svg"
same "$TMP/remote.svg" "$TMP/file.svg"
"$ORGANFS" --pack "$url" packed.gguf 2>/dev/null
same packed.gguf "$TMP/scribe.gguf"
"$ORGANFS" --picture "file://$TMP/www/a%20scribe.gguf" | cmp - "$TMP/file.svg" ||
	fail 'a file: URL is another picture'
unmount_and_wait "$TMP/donor"
unmount_and_wait "$TMP/file"
end_server

#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# .log names an unreadable base with the reason, once for each file and not for each read.
. "${0%/*}/../lib.sh"

# says_once NAME FILE: count the words, wherever the reads come from.
says_once() {
	grep -q "$2: cannot be read: " "$1/.log" || fail "$1/.log says: $(cat "$1/.log")"
	equal "$(grep -c "$2: cannot be read: " "$1/.log")" 1 "lines: $(cat "$1/.log")"
}

# The base is overwritten by bytes of the same length.
base=$(use stories260K)
mount_model "$base"
equal "$(cat "$MNT/.log")" ''
cat "$MODELS/stories260K-donor.gguf" >"$base"
for organ in "$MNT"/organs/*.bin "$MNT"/skeleton/*.bin; do
	expect_fail 'input/output error' cat "$organ"
done
expect_fail 'input/output error' cat "$MNT/model.gguf"
says_once "$MNT" "$base"
log_says "$base: cannot be read: .*changed"
unmount_and_wait

# The base is truncated; reads go before and beyond its new end.
base=$(use scribe-Q4_K_M)
mount_model "$base"
truncate -s 1000000 "$base"
for organ in "$MNT"/*/*.bin; do
	cat "$organ" >/dev/null 2>&1 || true
done
expect_fail 'input/output error' cat "$MNT/model.gguf"
says_once "$MNT" "$base"
log_says "$base: cannot be read: .*changed"
unmount_and_wait

# Only the damaged one of several models is named.
mkdir "$TMP/models"
cp "$MODELS/stories260K.gguf" "$TMP/models/a.gguf"
cp "$MODELS/stories260K-donor.gguf" "$TMP/models/b.gguf"
mount_model "$TMP/models"
truncate -s 4000 "$TMP/models/b.gguf"
cat "$MNT/a/model.gguf" >/dev/null
expect_fail 'input/output error' cat "$MNT/b/organs/blk_1_ffn_up.bin"
expect_fail 'input/output error' cat "$MNT/b/model.gguf"
says_once "$MNT/b" "$TMP/models/b.gguf"
says_once "$MNT" "$TMP/models/b.gguf"
equal "$(cat "$MNT/a/.log")" ''
unmount_and_wait

# A shard is damaged.
mkdir "$TMP/split"
cp "$MODELS"/stories260K-split-*.gguf "$TMP/split"
shard=$TMP/split/stories260K-split-00002-of-00003.gguf
mount_model "${shard/00002/00001}"
before=$(wc -l <"$MNT/.log")
printf 'x' | dd of="$shard" bs=1 seek=100000 conv=notrunc status=none
for i in 1 2; do
	expect_fail 'input/output error' cat "$MNT/model.gguf"
done
says_once "$MNT" "$shard"
equal "$(wc -l <"$MNT/.log")" $((before + 1)) "lines: $(cat "$MNT/.log")"
unmount_and_wait

# A model is damaged that a graft refers to.
rm -r "$TMP/models"
mkdir "$TMP/models"
cp "$MODELS/stories260K.gguf" "$TMP/models/a.gguf"
cp "$MODELS/stories260K-donor.gguf" "$TMP/models/b.gguf"
mount_model -o "layer=$TMP/layer" "$TMP/models"
cp "$MNT/b/organs/blk_1_ffn_up.bin" "$MNT/a/organs/"
unmount_and_wait
equal "$(layer_sql "$TMP/layer/a" "SELECT kind FROM slot WHERE name = 'blk_1_ffn_up'")" reference
mount_model -o "layer=$TMP/layer/a" "$TMP/models/a.gguf"
printf 'x' | dd of="$TMP/models/b.gguf" bs=1 seek=100000 conv=notrunc status=none
for i in 1 2; do
	expect_fail 'input/output error' cat "$MNT/organs/blk_1_ffn_up.bin"
done
says_once "$MNT" "$TMP/models/b.gguf"
cat "$MNT/organs/blk_2_ffn_up.bin" >/dev/null
unmount_and_wait

#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# .views/gguf-hash.xxh64 equals llama-gguf-hash's output for model.gguf, computed by an independent
# program; .views is a read-only directory, listed on request.
. "${0%/*}/../lib.sh"

need xxhsum
right() {
	"$GGUF" gguf-hash "$MNT/model.gguf" model.gguf >"$TMP/expected"
	same "$MNT/.views/gguf-hash.xxh64" "$TMP/expected"
	equal "$(stat -c %s "$MNT/.views/gguf-hash.xxh64")" "$(stat -c %s "$TMP/expected")"
}

for name in stories260K types types-stress clerk-Q4_K_M; do
	mount_model -o ro "$MODELS/$name.gguf"
	right
	tail -n 1 "$MNT/.views/gguf-hash.xxh64" |
		grep -Eq '^xxh64     [0-9a-f]{16}  model\.gguf$' || fail 'the form'
	unmount_and_wait
done
# One model has no tensor, one an old container version.
"$GGUF" variant "$MODELS/stories260K.gguf" "$TMP/vocab.gguf" --vocab
"$GGUF" variant "$MODELS/stories260K.gguf" "$TMP/old.gguf" --version 1 --align 64
for name in vocab old; do
	mount_model -o ro "$TMP/$name.gguf"
	right
	unmount_and_wait
done

# A model that lacks shards has the lines of its present tensors only.
for k in 1 3; do
	shard=stories260K-split-0000$k-of-00003.gguf
	mkdir "$TMP/shard$k"
	cp "$MODELS/$shard" "$TMP/shard$k"
	mount_model -o ro "$TMP/shard$k/$shard"
	"$GGUF" gguf-hash "$TMP/shard$k/$shard" model.gguf | head -n -1 >"$TMP/expected"
	same "$MNT/.views/gguf-hash.xxh64" "$TMP/expected"
	unmount_and_wait
done

# Grafts have other sizes, and slots are added, removed and moved.
base=$(use stories260K)
mount_model -o noassemble "$base"
right
before=$(tail -n 1 "$MNT/.views/gguf-hash.xxh64")
for number in 1 0; do # not in the order of their names
	for file in "$MNT"/*/blk_4_*.bin; do
		ln "$file" "${file/blk_4_/blk_$((number + 5))_}"
	done
done
right
ln -f "$MNT/norm/blk_1_attn_norm.bin" "$MNT/norm/blk_2_attn_norm.bin"
right
mkdir "$TMP/donor"
mount_model -o ro "$MODELS/stories260K-q8_0.gguf" "$TMP/donor"
cp "$TMP/donor"/organs/blk_[03]_*.bin "$MNT/organs/"
ln -sf "$TMP/donor/organs/blk_1_ffn_up.bin" "$MNT/organs/blk_1_ffn_up.bin"
right
# A link's target becomes another organ, without a look in between.
cp "$TMP/donor/organs/blk_2_ffn_up.bin" "$TMP/linked.bin"
ln -sf "$TMP/linked.bin" "$MNT/organs/blk_2_ffn_up.bin"
right
cp "$TMP/donor/organs/blk_3_ffn_up.bin" "$TMP/linked.new"
mv "$TMP/linked.new" "$TMP/linked.bin"
cat "$MNT/.views/gguf-hash.xxh64" >"$TMP/first"
right
same "$TMP/first" "$TMP/expected"
rm "$MNT/organs/blk_4_ffn_up.bin"
mv "$MNT/organs/blk_4_ffn_down.bin" "$MNT/organs/blk_7_ffn_down.bin"
right
equal "$(grep -c ffn_up "$MNT/.views/gguf-hash.xxh64")" 6
[ "$(tail -n 1 "$MNT/.views/gguf-hash.xxh64")" != "$before" ] || fail 'the model is another one'
unmount_and_wait
unmount_and_wait "$TMP/donor"
rm -r "$XDG_STATE_HOME"

# Halves of an adapter are not part of the model.
"$LORA" make "$base" "$TMP/halves.gguf" 'blk.[01].attn_q.weight'
mount_model -o ro "$TMP/halves.gguf" "$TMP/donor"
mount_model -o noassemble "$base"
whole=$(tail -n 1 "$MNT/.views/gguf-hash.xxh64")
cp "$TMP/donor/adapters/"*.bin "$MNT/adapters/"
right
! grep -q lora "$MNT/.views/gguf-hash.xxh64" || fail "$(grep lora "$MNT/.views/gguf-hash.xxh64")"
echo 0 >"$MNT/adapters/lora.scale"
equal "$(tail -n 1 "$MNT/.views/gguf-hash.xxh64")" "$whole"
unmount_and_wait
unmount_and_wait "$TMP/donor"
rm -r "$XDG_STATE_HOME"

# The directory.
mount_model "$base"
! ls -A "$MNT" | grep -qx .views || fail '.views is listed'
ls -A "$MNT/.views" | grep -qx gguf-hash.xxh64 || fail "in .views: $(ls -A "$MNT/.views")"
equal "$(cd "$MNT/.views/.." && ls -di .)" "$(cd "$MNT" && ls -di .)"
equal "$(stat -c '%F %a' "$MNT/.views")" 'directory 555'
absent "$MNT/.views/anything"
expect_fail 'denied|not permitted' touch "$MNT/.views/anything"
expect_fail 'denied|not permitted' rm -f "$MNT/.views/gguf-hash.xxh64"
expect_fail 'denied' tee "$MNT/.views/gguf-hash.xxh64" </dev/null
expect_fail 'not permitted' rmdir "$MNT/.views"
unmount_and_wait
mount_model -o ro,views=listed "$base"
ls -A "$MNT" | grep -qx .views || fail '.views is not listed'
unmount_and_wait
mount_model -o ro "$MODELS"
exists "$MNT/scribe-Q4_K_M/.views/gguf-hash.xxh64"
equal "$(cd "$MNT/types/.views/.." && ls -di .)" "$(cd "$MNT/types" && ls -di .)"
absent "$MNT/.views"
unmount_and_wait

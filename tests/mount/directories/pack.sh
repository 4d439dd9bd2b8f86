#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# organfs --pack writes a model without a mount, and 1,000 organs in the time of their listing.
. "${0%/*}/../lib.sh"

model=$(use scribe-Q4_K_M)
dir=$TMP/d
mount_model -o ro "$model"
mkdir "$dir"
cp -r "$MNT"/{header.gguf,embed,norm,organs,skeleton} "$dir"
unmount_and_wait

"$ORGANFS" --pack "$dir" "$TMP/out.gguf" 2>"$TMP/said" || fail "$(cat "$TMP/said")"
same "$model" "$TMP/out.gguf"
grep -q "assembled: $TMP/out.gguf: $(stat -c %s "$model") bytes" "$TMP/said" ||
	fail "$(cat "$TMP/said")"
# The target is relative to the working directory. Only -f replaces another program's file.
cd "$TMP"
echo old >rel.gguf
expect_fail 'rel.gguf: the target exists.* -f (of|to) --pack' "$ORGANFS" --pack d rel.gguf
equal "$(cat rel.gguf)" old
"$ORGANFS" --pack -f d rel.gguf 2>/dev/null || fail 'a relative name'
same "$model" rel.gguf
"$ORGANFS" --pack d rel.gguf 2>/dev/null || fail 'its own file is not replaced'
same "$model" rel.gguf
echo precious >rel.gguf
expect_fail 'rel.gguf: the target exists' "$ORGANFS" --pack d rel.gguf
equal "$(cat rel.gguf)" precious
"$ORGANFS" --pack -f d rel.gguf 2>/dev/null

# The grafts of a layer are included.
mkdir "$TMP/layer"
mount_model -o "layer=$TMP/layer" "$model"
rm "$MNT/organs/blk_1_ffn_up.bin"
want=$(checksum "$MNT/model.gguf")
unmount_and_wait
"$ORGANFS" --pack -o "layer=$TMP/layer" "$model" "$TMP/grafted.gguf" 2>/dev/null ||
	fail 'with a layer'
equal "$(checksum "$TMP/grafted.gguf")" "$want"

expect_fail 'none: No such file' "$ORGANFS" --pack -o "layer=$TMP/none" "$model" "$TMP/x.gguf"

# The layer's adapters are included; the command follows their links.
"$LORA" make "$model" "$TMP/style.gguf" 'blk.0.attn_q.weight'
mount_model -o "layer=$TMP/layer" "$model"
ln -s "$TMP/style.gguf" "$MNT/adapters/style.gguf"
cp "$MNT/model.gguf" "$TMP/adapted.gguf"
unmount_and_wait
"$ORGANFS" --pack -o "layer=$TMP/layer" "$model" "$TMP/packed.gguf" 2>"$TMP/said" ||
	fail "$(cat "$TMP/said")"
same "$TMP/packed.gguf" "$TMP/adapted.gguf"

# Organs by symbolic link are included; a configuration of mergekit stands for the merge.
"$GGUF" organ "$MODELS/clerk-Q4_K_M.gguf" blk.2.ffn_up.weight "$TMP/organ.bin"
mount_model -o "layer=$TMP/layer" "$model"
ln -sf "$TMP/organ.bin" "$MNT/organs/blk_2_ffn_up.bin"
cp "$MNT/model.gguf" "$TMP/linked.gguf"
unmount_and_wait
"$ORGANFS" --pack -o "layer=$TMP/layer" "$model" "$TMP/packed.gguf" 2>"$TMP/said" ||
	fail "$(cat "$TMP/said")"
same "$TMP/packed.gguf" "$TMP/linked.gguf"
cat >"$TMP/m.yml" <<END
merge_method: linear
models:
  - {model: $model, parameters: {weight: 0.5}}
  - {model: $MODELS/clerk-Q4_K_M.gguf, parameters: {weight: 0.5}}
dtype: float16
END
mount_model -o ro "$TMP/m.yml"
"$ORGANFS" --pack -f "$TMP/m.yml" "$TMP/packed.gguf" 2>"$TMP/said" || fail "$(cat "$TMP/said")"
same "$TMP/packed.gguf" "$MNT/model.gguf"
unmount_and_wait

# Sources are never overwritten, and a failed pack keeps the target.
for target in "$dir/header.gguf" "$dir/organs/blk_1_ffn_up.bin"; do
	before=$(checksum "$target")
	! "$ORGANFS" --pack "$dir" "$target" 2>/dev/null || fail "$target was written over"
	equal "$(checksum "$target")" "$before"
done
# An organ that a mount refuses is refused.
cp "$dir/skeleton/blk_0_attn_q.bin" "$dir/organs/blk_1_ffn_up.bin"
expect_fail "blk_1_ffn_up.bin: graft refused: the organ's shape is 256x256, the slot's is 256x512" \
	"$ORGANFS" --pack "$dir" "$TMP/shape.gguf"
absent "$TMP/shape.gguf"
"$ORGANFS" --pack -o shape=any "$dir" "$TMP/shape.gguf" 2>"$TMP/said" || fail "$(cat "$TMP/said")"
rm "$dir/organs/blk_1_ffn_up.bin"
! "$ORGANFS" --pack "$dir" "$TMP/rel.gguf" 2>"$TMP/said" || fail 'a part of a model was packed'
grep -q 'lacks organs/blk_1_ffn_up.bin' "$TMP/said" || fail "$(cat "$TMP/said")"
same "$model" "$TMP/rel.gguf"
status=0
"$ORGANFS" --pack "$dir" 2>/dev/null || status=$?
equal "$status" 2
equal "$(find "$TMP" -maxdepth 1 -name '.*' ! -name . | wc -l)" 0 'something is left'

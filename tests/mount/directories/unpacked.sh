#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# An unpacked directory equals cp -r of the mount: the same files, and after the same cp of organs
# the same model, .check, .theta and .npy.
. "${0%/*}/../lib.sh"

donor_mnt=$TMP/donor
same_lines() {
	diff <(sed 's/over [0-9]* matri[a-z]*/over N matrices/' "$1") \
		<(sed 's/over [0-9]* matri[a-z]*/over N matrices/' "$2") || fail "$3"
}

# both HOST DONOR PATTERN...: copy organs from mount to mount and from directory to directory.
both() {
	set +f
	local host=$MODELS/$1.gguf donor=$MODELS/$2.gguf dir=$TMP/d organ
	shift 2
	rm -rf "$TMP"/{layer,d,c,want}
	mkdir "$TMP/layer" "$TMP/want"
	"$ORGANFS" --unpack --theta "$host" "$dir" 2>/dev/null || fail "$host"
	"$ORGANFS" --unpack "$donor" "$TMP/c" 2>/dev/null || fail "$donor"
	mount_model -o "layer=$TMP/layer" "$host"
	mount_model -o ro "$donor" "$donor_mnt"
	(cd "$MNT" && cp -r -- [a-z]* "$TMP/want" && rm "$TMP/want"/{model.gguf,theta.svg})
	diff -r "$TMP/want" "$dir" || fail "the tree of $host"
	"$ORGANFS" --check "$host" | cmp - "$MNT/.check"
	"$ORGANFS" --theta "$host" | cmp - "$MNT/.theta"
	"$ORGANFS" --theta --json "$host" >"$TMP/report"
	cmp "$TMP/report" <(sed 's|"layer":"[^"]*"|"layer":null|' "$MNT/.report.json")
	organ=$(cd "$TMP/c" && compgen -G "$1" | head -n 1)
	"$ORGANFS" --npy "$host" "$organ" | cmp - "$MNT/.views/npy/${organ%.bin}.npy"

	# shellcheck disable=SC2086,SC2048
	(cd "$donor_mnt" && cp --parents $* "$MNT" && cd "$TMP/c" && cp --parents $* "$dir")
	"$ORGANFS" --check "$dir" "$donor" >"$TMP/check" || grep -q '^impossible' "$MNT/.check" ||
		fail "--check of $host with $donor: $(cat "$TMP/check")"
	same_lines "$MNT/.check" "$TMP/check" "$host with $donor: .check"
	"$ORGANFS" --pack "$dir" "$TMP/packed.gguf" 2>/dev/null || fail "$dir is not packed"
	same "$TMP/packed.gguf" "$MNT/model.gguf"
	rm "$TMP/packed.gguf"
	cp "$MNT/.check" "$TMP/check"
	cp "$MNT/model.gguf" "$TMP/model.gguf"
	unmount_and_wait "$donor_mnt"
	unmount_and_wait
	# The layer records its grafts.
	"$ORGANFS" --check -o "layer=$TMP/layer" "$host" | cmp - "$TMP/check"
	rm -r "$dir"
	"$ORGANFS" --unpack -o "layer=$TMP/layer" "$host" "$dir" 2>/dev/null || fail "$host, layer="
	"$ORGANFS" --pack "$dir" "$TMP/packed.gguf" 2>/dev/null || fail "$dir is not packed"
	same "$TMP/packed.gguf" "$TMP/model.gguf"
	rm "$TMP/packed.gguf"
}

ffn='organs/blk_0_ffn_*.bin organs/blk_1_ffn_*.bin organs/blk_2_ffn_*.bin'
while read -ru 3 host donor organs; do
	# shellcheck disable=SC2086
	set -f && both "$host" "$donor" $organs
done 3< <(some 3 <<END
scribe-Q4_K_M clerk-Q4_K_M organs/blk_2_ffn_up.bin
clerk-Q4_K_M scribe-Q4_K_M $ffn
stories260K stories260K-donor skeleton/blk_1_*.bin embed/token_embd.bin
stories260K-donor stories260K-q8_0 $ffn embed/output.bin
stories260K-q8_0 stories260K organs/blk_2_ffn_up.bin norm/blk_1_attn_norm.bin
stories260K-split-00001-of-00003 stories260K-q8_0 $ffn
scribe-Q4_K_M scribe-f16-tensors organs/blk_2_ffn_up.bin embed/*.bin
types types-stress other/f*.bin
types-stress types other/*.bin
END
)

# The layer has a merge and adapters.
cat >"$TMP/m.yml" <<END
merge_method: linear
models:
  - {model: $MODELS/scribe-Q4_K_M.gguf, parameters: {weight: 0.5}}
  - {model: $MODELS/clerk-Q4_K_M.gguf, parameters: {weight: 0.5}}
dtype: float16
END
mount_model -o ro "$TMP/m.yml"
rm -rf "$TMP/d"
"$ORGANFS" --unpack "$TMP/m.yml" "$TMP/d" 2>/dev/null || fail 'a merge is not unpacked'
for from in "$TMP/m.yml" "$TMP/d"; do
	"$ORGANFS" --pack -f "$from" "$TMP/packed.gguf" 2>/dev/null || fail "$from is not packed"
	same "$TMP/packed.gguf" "$MNT/model.gguf"
done
"$ORGANFS" --theta "$TMP/m.yml" 2>/dev/null | cmp - "$MNT/.theta"
unmount_and_wait

base=$(use scribe-Q4_K_M)
rm -rf "$TMP/layer" "$TMP/d"
mkdir "$TMP/layer"
"$LORA" make "$base" "$TMP/style.gguf" 'blk.0.attn_q.weight'
"$GGUF" organ "$MODELS/clerk-Q4_K_M.gguf" blk.1.ffn_up.weight "$TMP/organ.bin"
mount_model -o "layer=$TMP/layer" "$base"
ln -s "$TMP/style.gguf" "$MNT/adapters/style.gguf"
ln -sf "$TMP/organ.bin" "$MNT/organs/blk_1_ffn_up.bin"
cp "$MNT/model.gguf" "$TMP/model.gguf"
unmount_and_wait
"$ORGANFS" --unpack -o "layer=$TMP/layer" "$base" "$TMP/d" 2>/dev/null || fail 'links of a layer'
same "$TMP/d/organs/blk_1_ffn_up.bin" "$TMP/organ.bin"
"$ORGANFS" --pack -f "$TMP/d" "$TMP/packed.gguf" 2>/dev/null || fail 'links are not packed'
same "$TMP/packed.gguf" "$TMP/model.gguf"

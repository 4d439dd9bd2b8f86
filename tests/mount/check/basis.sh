#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Weights stored in a rotated basis (keys *.hadamard.*) do not mix with others by graft, merge,
# adapter or difference. They mix with models of the same basis.
. "${0%/*}/../lib.sh"

mkdir "$TMP/models"
cp "$MODELS/stories260K.gguf" "$TMP/models/plain.gguf"
for name in rotated other; do
	"$GGUF" edit "$MODELS/stories260K-donor.gguf" "$TMP/models/$name.gguf" \
		prism.hadamard.block_size=uint32:128 prism.hadamard.sign_mode=string:identity
done
"$GGUF" edit "$TMP/models/other.gguf" "$TMP/models/signed.gguf" \
	prism.hadamard.sign_mode=string:explicit
"$LORA" make "$MODELS/stories260K.gguf" "$TMP/plain-lora.gguf" '*.attn_q.weight'
mount_model -o noassemble "$TMP/models"

# mixes VERDICT HOST DONOR: graft, and check the verdict.
mixes() {
	cp "$MNT/$3/organs/blk_1_ffn_up.bin" "$MNT/$2/organs/"
	grep -q "^$1	architecture	" "$MNT/$2/.check" || fail "$2, $3: $(cat "$MNT/$2/.check")"
	echo all >"$MNT/$2/.undo"
}
mixes impossible rotated plain
mixes impossible plain rotated
mixes impossible signed rotated
mixes ok rotated other

config() {
	printf '%s\n' 'merge_method: linear' 'parameters: {weight: 1}' \
		models: "- model: $1" "- model: $2"
}
config plain rotated >"$TMP/merge.yml"
expect_fail 'invalid argument' cp "$TMP/merge.yml" "$MNT/plain/.merge"
log_says 'hadamard'
config rotated other >"$TMP/merge.yml"
cp "$TMP/merge.yml" "$MNT/rotated/.merge"
rm "$MNT/rotated/.merge"

expect_fail 'invalid argument' ln -s "$TMP/plain-lora.gguf" "$MNT/rotated/adapters/x.gguf"
ln -s "$TMP/plain-lora.gguf" "$MNT/plain/adapters/x.gguf"

"$ORGANFS" --diff "$TMP/models/plain.gguf" "$TMP/models/rotated.gguf" >"$TMP/diff"
grep -q '^basis .*hadamard' "$TMP/diff" || fail "$(cat "$TMP/diff")"
"$ORGANFS" --diff "$TMP/models/rotated.gguf" "$TMP/models/other.gguf" >"$TMP/diff"
! grep -q '^basis' "$TMP/diff" || fail "$(cat "$TMP/diff")"
expect_fail 'invalid argument' cat "$MNT/plain/.diff/rotated.lora-1.gguf"
log_says 'rotated.lora-1.gguf: .*hadamard'
cat "$MNT/rotated/.diff/other.lora-1.gguf" >"$TMP/lora.gguf"
unmount_and_wait

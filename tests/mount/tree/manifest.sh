#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# manifest.json is valid JSON and describes the file, with and without a graft.
. "${0%/*}/../lib.sh"

for model in "$MODELS"/*.gguf; do
	case $model in
	*-of-0*.gguf) continue ;;
	esac
	mount_model -o noassemble "$model"
	"$GGUF" check-manifest "$model" "$MNT"
	jq -e '[.tensors[].graft] | all(. == null)' "$MNT/manifest.json" >/dev/null ||
		fail 'a graft where there is none'
	unmount_and_wait
done

base=$(use stories260K)
mount_model "$base"
"$GGUF" organ "$MODELS/stories260K-q8_0.gguf" blk.1.ffn_up.weight "$TMP/organ.bin"
cp "$TMP/organ.bin" "$MNT/organs/blk_1_ffn_up.bin"
jq -e '[.tensors[] | select(.graft != null)] | length == 1 and .[0].type == "Q8_0" and
	.[0].name == "blk.1.ffn_up.weight"' "$MNT/manifest.json" >/dev/null ||
	fail "in the manifest: $(jq -c '.tensors[] | select(.graft)' "$MNT/manifest.json")"
equal "$(stat -c %s "$MNT/manifest.json")" "$(wc -c <"$MNT/manifest.json")" 'size of manifest.json'
unmount_and_wait

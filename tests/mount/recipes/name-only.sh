#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# A recipe passed on without paths and donor, but with the organ files: the donor keeps its name
# and fingerprint everywhere, over remounts.
. "${0%/*}/../lib.sh"

need jq
base=$(use scribe-Q4_K_M)
mkdir "$TMP/away" "$TMP/donor"
cp "$MODELS/clerk-Q4_K_M.gguf" "$TMP/away/clerk.gguf"
mount_model -o ro "$TMP/away/clerk.gguf" "$TMP/donor"
mount_model -o noassemble,fresh "$base"
cp "$TMP/donor"/organs/blk_[01]_ffn_*.bin "$MNT/organs/"
grep -v '^  path: ' "$MNT/.recipe" >"$TMP/donor.yml"
cp "$MNT/model.gguf" "$TMP/expected.gguf"
mkdir "$TMP/handed"
cp "$TMP/donor"/organs/blk_[01]_ffn_*.bin "$TMP/handed/"
mv "$TMP/donor.yml" "$TMP/handed/recipe.yml"
unmount_and_wait "$TMP/donor"
echo all >"$MNT/.undo"
unmount_and_wait
mv "$TMP/away" "$TMP/hidden"

fingerprint=$(sed -n '/^donors/,$ s/^  fingerprint: //p' "$TMP/handed/recipe.yml" | tr -d "'")
for time in 1 2; do
	mount_model -o "layer=$TMP/layer,recipe=$TMP/handed/recipe.yml,noassemble" "$base"
	same "$MNT/model.gguf" "$TMP/expected.gguf"
	equal "$(cut -f 8,9 "$MNT/.grafts" | sort -u | head -1)" \
		$'clerk.gguf\tblk.0.ffn_down.weight' "$time"
	equal "$(jq -r '[.tensors[].graft | select(.)
		| .file + " " + .fingerprint] | unique[]' "$MNT/.report.json")" \
		"clerk.gguf $fingerprint"
	equal "$(sed -n '/^donors/,/^grafts/p' "$MNT/.recipe" | grep -c 'name: clerk.gguf')" 1
	! grep -q '  path:' "$MNT/.recipe" || fail "$(cat "$MNT/.recipe")"
	grep -q $'^ok\tdonor\tclerk: 6 grafts: .*; from clerk.gguf' "$MNT/.check" ||
		fail "$(cat "$MNT/.check")"
	unmount_and_wait
done

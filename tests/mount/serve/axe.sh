#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# plain: its clients are scripts and programs of others
# release: needs Chromium
# axe-core checks the pages of organ-serve: labels, roles, contrast, in light and in dark.
# timeout: 300
. "${0%/*}/../lib.sh"

need chromium npm tar
(cd "$TMP" && HOME=$TMP timeout 30 npm pack --silent --cache "$TMP/npm" --fetch-retries 0 \
	axe-core@4.10.3 >"$TMP/packed" 2>&1 </dev/null &&
	tar -xf axe-core-*.tgz package/axe.min.js) || skip 'axe-core cannot be fetched'

mkdir "$TMP/models"
cp "$MODELS/scribe-Q4_K_M.gguf" "$MODELS/clerk-Q4_K_M.gguf" "$TMP/models/"
mount_model -o noassemble "$TMP/models"
scribe=$MNT/scribe-Q4_K_M
cp "$MNT"/clerk-Q4_K_M/organs/blk_[1-4]_ffn_*.bin "$scribe/organs/"
rm "$scribe/organs/blk_5_ffn_up.bin"
echo 4096 >"$scribe/metadata/llama.context_length"
cp "$MNT/clerk-Q4_K_M/organs/blk_1_ffn_up.bin" "$scribe/organs/blk_6_ffn_up.bin"
echo x >"$scribe/organs/blk_0_ffn_up.bin" || true
serve --models "$TMP/models" "$MNT"
status 201 -d clerk-Q4_K_M.gguf "$URL.models"
loaded='wait: document.body?.dataset.state === "loaded"'
violations='axe.run().then((found) => found.violations.map((one) => one.id + ": " +
	one.nodes.map((node) => node.html.slice(0, 120) + " " + node.failureSummary).join("; ")))'
fits='document.documentElement.scrollWidth <= innerWidth'
# looks ADDRESS STEP...: no finding there, light and wide, dark and narrow.
steps=(about:blank)
expected=
looks() {
	steps+=('media: light' 'size: 1280x1000' "$1" "$loaded" "${@:2}"
		"\"${*//[\"\\]/}\"" "script: $TMP/package/axe.min.js" "$violations" "$fits"
		'media: dark' 'size: 420x1000' "$violations" "$fits")
	expected+=$(printf '%s\n' "\"${*//[\"\\]/}\"" '[]' true '[]' true)$'\n'
}
looks "$URL" 'wait: document.querySelector("#beside li")'
looks "${URL}scribe-Q4_K_M/" 'click: tr.leaf [type=checkbox]' 'click: .check summary'
looks "${URL}scribe-Q4_K_M/" 'click: tr.leaf .organ' 'wait: document.querySelector(".histogram")'
looks "${URL}scribe-Q4_K_M/" 'click: button[aria-label="Edit llama.context_length"]' \
	'wait: document.querySelector(".edit")'
looks "${URL}?left=clerk-Q4_K_M&right=scribe-Q4_K_M"
looks "${URL}scribe-Q4_K_M/metadata/"
in_time 240 "$here/../tools/browse.py" "${steps[@]}" >"$TMP/seen" 2>"$TMP/.said" ||
	fail "$(cat "$TMP/.said")"
equal "$(cat "$TMP/seen")" "${expected%$'\n'}" 'findings of axe-core'
unmount_served

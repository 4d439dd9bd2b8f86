#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The pages of organ-serve as axe-core sees them: labels, roles, contrast, in light and in dark.
# timeout: 900
. "${0%/*}/lib.sh"

not_sanitized
need chromium npm tar
(cd "$TMP" && HOME=$TMP npm pack --silent --cache "$TMP/npm" axe-core@4 >"$TMP/packed" 2>&1 &&
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
serve "$MNT"
loaded='wait: document.body?.dataset.state === "loaded"'
violations='axe.run().then((found) => found.violations.map((one) => one.id + ": " +
	one.nodes.map((node) => node.html.slice(0, 120) + " " + node.failureSummary).join("; ")))'
# looks ADDRESS STEP...: nothing is wrong there, in light and dark, wide and narrow.
looks() {
	local address=$1 media size
	shift
	for media in light dark; do
		for size in 1280 420; do
			timeout 300 "$here/../tools/browse.py" about:blank "media: $media" \
				"size: ${size}x1000" "$address" "$loaded" "$@" \
				"script: $TMP/package/axe.min.js" "$violations" \
				'document.documentElement.scrollWidth <= innerWidth' \
				>"$TMP/seen" 2>"$TMP/.said" || fail "$address: $(cat "$TMP/.said")"
			equal "$(tail -n 2 "$TMP/seen")" $'[]\ntrue' \
				"$address $* in $media, $size wide"
		done
	done
}
looks "$URL"
looks "${URL}scribe-Q4_K_M/" 'click: tr.leaf [type=checkbox]' 'click: .check summary'
looks "${URL}scribe-Q4_K_M/" 'click: tr.leaf .organ' 'wait: document.querySelector(".histogram")'
looks "${URL}scribe-Q4_K_M/" 'click: button[aria-label="Edit llama.context_length"]' \
	'wait: document.querySelector(".edit")'
looks "${URL}?left=clerk-Q4_K_M&right=scribe-Q4_K_M"
looks "${URL}scribe-Q4_K_M/metadata/"
unmount_served

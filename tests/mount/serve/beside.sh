#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# plain: its clients are scripts and programs of others
# release: needs Chromium
# The page of organ-serve --models: it mounts another model, shows it beside the served one, and an
# organ and a class are dragged across.
# timeout: 600
. "${0%/*}/../lib.sh"

need chromium
browse() {
	in_time 300 "$here/../tools/browse.py" "$@" 2>"$TMP/.said" || fail "$1: $(cat "$TMP/.said")"
}
loaded='wait: document.body?.dataset.state === "loaded"'
says() {
	echo "wait: document.querySelector('.activity').innerText.includes('$1')"
}
press() {
	echo "document.querySelector('#beside [aria-label=\"$1\"]').click(); 0"
}
there() {
	echo "wait: document.querySelector('#beside [aria-label=\"$1\"]')"
}
mkdir "$TMP/pool"
cp "$MODELS/clerk-Q4_K_M.gguf" "$TMP/pool/clerk.gguf"
echo junk >"$TMP/pool/junk.gguf"
mount_model -o noassemble "$(use scribe-Q4_K_M)"
serve --models "$TMP/pool" "$MNT"
left='.pane:nth-child(1)'
right='.pane:nth-child(2)'

# The page mounts a model; a file that is no model is refused with the reason.
browse "$URL" "$loaded" "$(there 'Mount clerk')" "$(press 'Mount junk')" \
	"$(says 'not a GGUF file')" "$(press 'Mount clerk')" "$(says 'clerk is mounted')" \
	"$(there 'Unmount clerk')" \
	'document.querySelector("#beside a.button").getAttribute("href")' >"$TMP/seen"
pair=$(tail -n 1 "$TMP/seen" | tr -d \")
equal "$pair" '/?left=.models%2Fclerk&right=.'

# Drag an organ and a class across, and undo both. The other model cannot be changed.
row() {
	echo "$left tr[data-path='$1']"
}
listed="wait: document.querySelector('$right .grafts').innerText.includes('clerk')"
unfold="document.querySelectorAll('[data-part=fold]').forEach((b) => {
	if (b.innerText === 'ffn_gate') b.click(); }); 0"
# A row's block range has no line break at its hyphen in a narrow pane.
in_lines="((all) => all.length + ' ' +
	all.filter((one) => one.getClientRects().length === 1).length)(
	[...document.querySelectorAll('$left .name .unbroken')].filter((one) =>
		one.innerText.includes('-')))"
browse "${URL%/}$pair" "$loaded" 'document.title' \
	"document.querySelector('$left input[type=file]').checkVisibility()" "$in_lines" \
	"$unfold" \
	"drag: $(row organs/blk_1_ffn_gate.bin) .name >> $right .organs-section h3" \
	"$(says '1 organ copied into scribe-Q4_K_M')" "$listed" >"$TMP/seen"
equal "$(cat "$TMP/seen")" $'"clerk and scribe-Q4_K_M"\nfalse\n"9 9"\n0'
browse "${URL%/}$pair" "$loaded" "$listed" \
	"drag: $(row norm) .name >> $right .organs-section h3" \
	"$(says '12 organs copied into scribe-Q4_K_M')" \
	"wait: document.querySelector('$right .grafts').innerText.includes('12 files')" \
	${PICTURE:+"picture: $PICTURE"} >"$TMP/seen"
equal "$(cut -f 1-2 "$MNT/.grafts" | grep -c $'^norm/.*\tcopy$')" 12
grep -q '^organs/blk_1_ffn_gate.bin' "$MNT/.grafts" || fail "$(cat "$MNT/.grafts")"
equal "$(wc -l <"$MNT/.grafts")" 13

# The page unmounts a model. A read-only server shows no buttons for that.
browse "$URL" "$loaded" "$(there 'Unmount clerk')" "$(press 'Unmount clerk')" \
	"$(says 'clerk is unmounted')" "$(there 'Mount clerk')" >"$TMP/seen"
kill "$SERVER"
wait "$SERVER" || true
serve --models "$TMP/pool" --read-only "$MNT"
browse "$URL" "$loaded" 'wait: document.querySelector("#beside li")' \
	'document.querySelectorAll("#beside button").length' >"$TMP/seen"
equal "$(cat "$TMP/seen")" 0
kill "$SERVER"
wait "$SERVER" || true
serve "$MNT"
browse "$URL" "$loaded" 'document.querySelector("#beside").checkVisibility()' >"$TMP/seen"
equal "$(cat "$TMP/seen")" false
unmount_served

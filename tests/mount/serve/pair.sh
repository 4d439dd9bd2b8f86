#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# plain: its clients are scripts and programs of others
# release: needs Chromium
# Two models side by side on the page of organ-serve: organs move across by drag or by keyboard.
# timeout: 900
. "${0%/*}/../lib.sh"

need chromium
browse() {
	in_time 300 "$here/../tools/browse.py" "$@" 2>"$TMP/.said" || fail "$1: $(cat "$TMP/.said")"
}
loaded='wait: document.body?.dataset.state === "loaded"'
says() {
	echo "wait: document.querySelector('.activity').innerText.includes('$1')"
}
mkdir "$TMP/models"
cp "$MODELS/scribe-Q4_K_M.gguf" "$TMP/models/scribe.gguf"
cp "$MODELS/clerk-Q4_K_M.gguf" "$TMP/models/clerk.gguf"
mount_model -o noassemble "$TMP/models"
serve "$MNT"
pair="$URL?left=clerk&right=scribe"
left='.pane:nth-child(1)'
right='.pane:nth-child(2)'
# row: the left model's row for a class, a kind or an organ.
row() {
	echo "$left tr[data-path='$1']"
}
grafts() {
	cut -f 1-2 "$MNT/scribe/.grafts" | sort
}
settled="wait: document.querySelector('$right .grafts').innerText.includes('clerk')"
# all_listed CLASS N: wait for that many grafts of the class, each with its undo. The page may list
# some of them before the last one is made.
all_listed() {
	echo "wait: document.querySelectorAll(\"$right [aria-label^='Undo $1/']\").length === $2"
}
clean="wait: document.querySelector('$right .grafts').innerText.includes('None')"
undo_all="document.querySelector('$right .grafts > div > button:last-child').click()"

# The mount's page leads to the two, once both are chosen.
browse "$URL" "$loaded" 'click: form button' "wait: document.querySelector('$right .organs')" \
	"$loaded" 'location.search' >"$TMP/seen"
equal "$(cat "$TMP/seen")" '"?left=clerk&right=scribe"'

# The row of a kind has all its blocks. It becomes references, and the verdict follows.
browse "$pair" "$loaded" "drag: $(row organs/ffn_up) .name >> $right .organs-section h3" \
	"$(says '6 organs copied into scribe')" \
	"wait: document.querySelector('$right .grafts').innerText.includes('6 files')" \
	"wait: document.querySelector('$right .verdict-bar').innerText.includes('ok') ||
		document.querySelector('$right .verdict-bar').innerText.includes('risky')" \
	"document.querySelector('$right .grafts').innerText" >"$TMP/seen"
grep -q 'blk 0-5 ffn_up from clerk' "$TMP/seen" || fail "$(cat "$TMP/seen")"
equal "$(grafts)" "$(printf 'organs/blk_%d_ffn_up.bin\treference\n' 0 1 2 3 4 5)"
same "$MNT/scribe/organs/blk_3_ffn_up.bin" "$MNT/clerk/organs/blk_3_ffn_up.bin"

# Undo that, then drag a whole class, and one organ to another block's slot.
undo="$right [aria-label='Undo blk 0-5 ffn_up from clerk']"
browse "$pair" "$loaded" "document.querySelector(\"$undo\").click()" "$(says '6 changes undone')" \
	"$clean" >"$TMP/seen"
equal "$(grafts)" ''
# (A class is one request.)
asked='window.asked = []; const ask = fetch; window.fetch = (url, init) => {
	if (init?.method === "COPY") window.asked.push(`${url} ${init.headers.Destination}`);
	return ask(url, init); }; 0'
browse "$pair" "$loaded" "$asked" "drag: $(row norm) .name >> $right .organs" \
	"$(says '12 organs copied')" "$(all_listed norm 12)" 'asked.join()' "$undo_all" \
	"$(says '12 changes undone')" "$clean" >"$TMP/seen"
grep -Fqx "\"/clerk/norm/ ${URL}scribe/norm/\"" "$TMP/seen" || fail "$(cat "$TMP/seen")"
equal "$(grafts)" ''
browse "$pair" "$loaded" "document.querySelectorAll('[data-part=fold]').forEach((b) => {
		if (b.innerText === 'ffn_gate') b.click(); }); 0" \
	"drag: $(row organs/blk_1_ffn_gate.bin) .name >> $right \
		[data-path='organs/blk_4_ffn_gate.bin'] .name" \
	"$(says '1 organ copied')" "$settled" >"$TMP/seen"
equal "$(cut -f 1,6 "$MNT/scribe/.grafts")" $'organs/blk_4_ffn_gate.bin\tblk.1.ffn_gate.weight'
cp "$MNT/scribe/.base/organs/blk_4_ffn_gate.bin" "$MNT/scribe/organs/"

# By keyboard: Space selects, Enter at the button copies, Escape ends a copy between two organs.
select="document.querySelector(\"$(row skeleton/attn_q) input\").focus(); 0"
slow='let copies = 0; const f = fetch; window.fetch = async (url, init) => {
	if (init?.method === "COPY" && copies++)
		await new Promise((go) => { window.go = go; });
	return f(url, init); }; 0'
copy="document.querySelector('$left .selection .main').focus(); 0"
browse "$pair" "$loaded" "$select" 'key: Space' \
	"document.querySelector('$left .selection').innerText" \
	"$copy" 'key: Enter' "$(says '6 organs copied')" "$(all_listed skeleton 6)" \
	"$undo_all" "$(says '6 changes undone')" "$clean" "$slow" "$copy" 'key: Enter' \
	"$(says 'Copying into scribe: 1 of 6')" 'key: Escape' 'go(); 0' \
	"$(says 'Cancelled: 2 of 6')" "$settled" >"$TMP/seen"
grep -q '6 organs selected' "$TMP/seen" || fail "$(cat "$TMP/seen")"
equal "$(grafts | wc -l)" 2 'grafts after Escape'

# Each refusal is shown, and the other organs are copied all the same.
unmount_served
cp "$MODELS/stories260K.gguf" "$TMP/models/story.gguf"
mount_model -o noassemble "$TMP/models"
serve "$MNT"
browse "$URL?left=story&right=clerk" "$loaded" \
	"drag: $(row organs/ffn_up) .name >> $right .organs" "$(says 'refused')" \
	'document.querySelector(".activity").textContent' >"$TMP/seen"
grep -q "clerk/organs/blk_0_ffn_up.bin: graft refused: the organ's shape" "$TMP/seen" ||
	fail "$(cat "$TMP/seen")"
equal "$(cat "$MNT/clerk/.grafts")" ''

# A copy of a class copies nothing if one organ is refused.
browse "$URL?left=story&right=clerk" "$loaded" \
	"drag: $(row norm) .name >> $right .organs" "$(says 'refused')" \
	'document.querySelector(".activity").textContent' >"$TMP/seen"
why="Copying into clerk: refused.*clerk/norm/blk_0_attn_norm.bin: graft refused: the organ's shape"
grep -q "$why" "$TMP/seen" || fail "$(cat "$TMP/seen")"
equal "$(cat "$MNT/clerk/.grafts")" ''
unmount_served

#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# plain: its clients are scripts and programs of others
# release: needs Chromium
# The page of organ-serve for a model: content, buttons, concurrent changes by others, and names
# that look like markup.
# timeout: 900
. "${0%/*}/../lib.sh"

need chromium
browse() {
	in_time 300 "$here/../tools/browse.py" "$@" 2>"$TMP/.said" || fail "$1: $(cat "$TMP/.said")"
}
# Wait until no request is pending.
loaded='wait: document.body?.dataset.state === "loaded"'
text_of() {
	echo "document.querySelector('$1').innerText"
}
# drop NAME ADDRESS: drop the file from ADDRESS under that name.
drop() {
	echo "(async () => { const data = new DataTransfer();
		data.items.add(new File([await (await fetch('$2')).blob()], '$1'));
		document.querySelector('.pane').dispatchEvent(new DragEvent('drop',
			{dataTransfer: data, bubbles: true, cancelable: true})); })()"
}
# says WORDS: wait until the line at the bottom has them.
says() {
	echo "wait: document.querySelector('.activity').innerText.includes('$1')"
}

sees() {
	local words
	for words; do
		grep -qF -- "$words" "$TMP/seen" || fail "$words is not seen: $(cat "$TMP/seen")"
	done
}

# The content of the page.
mkdir "$TMP/donor" "$TMP/out"
mount_model -o ro "$MODELS/clerk-Q4_K_M.gguf" "$TMP/donor"
mount_model "$(use scribe-Q4_K_M)"
cp "$TMP"/donor/organs/blk_[1-4]_ffn_*.bin "$MNT/organs/"
rm "$MNT/organs/blk_5_ffn_up.bin" "$MNT/metadata/general.type"
cp "$TMP/donor/organs/blk_1_ffn_up.bin" "$MNT/organs/blk_6_ffn_up.bin"
serve --output "$TMP/out" "$MNT"
theta=$(cat "$MNT/organs/blk_0_ffn_up.theta")
shown='wait: document.querySelector(".picture img")?.naturalWidth > 0'
list='const s = [...document.querySelectorAll(".tools select")].at(-1); s.value = "list";
	s.dispatchEvent(new Event("input")); 0'
rows='[...document.querySelectorAll(".organs tr.leaf")].map((row) => row.innerText).join("\n")'
browse "$URL" "$loaded" "$shown" document.title "$(text_of .facts-line)" "$(text_of .verdict-bar)" \
	"$(text_of .grafts)" "$(text_of .check)" "$(text_of .legend)" "$(text_of .metadata)" \
	'click: .report summary' \
	'wait: document.querySelector(".report pre").innerText.includes("wells")' \
	"$list" 'wait: document.querySelectorAll(".organs tr.leaf").length === 57' "$rows" \
	>"$TMP/seen"
sees '"scribe-Q4_K_M"' 'llama · 57 tensors' 'impossible: blk 5 lacks ffn_up' Assemble \
	'blk 1-4 ffn_* from clerk-Q4_K_M 12 files' 'blk 5 ffn_up removed' \
	'blk 6 ffn_up from blk 1 of clerk-Q4_K_M' \
	'general.type key removed' 'checks ok' 'impossible complete' 'Q4_K 1.8 MB, 85 %' \
	'llama.context_length' "blk_0_ffn_up\\tQ4_K\\t256 × 512\\t73.8 kB\\t$theta"
! grep -q 'ok overall' "$TMP/seen" || fail 'good verdicts are not folded'

# Sorting and filtering; the figures under the pointer; the view of an organ.
order='[...document.querySelectorAll(".organs tr.leaf")].map((row) =>
	Number(row.querySelector(".theta").innerText))
	.filter((n, i, all) => i && n > all[i - 1]).length'
field='const fill = (words, value) => {
	const f = [...document.querySelectorAll(".tools :is(input,select)")].find((f) =>
		(f.ariaLabel || f.labels[0]?.innerText) === words);
	f.value = value; f.dispatchEvent(new Event("input")); };'
browse "$URL" "$loaded" "$list" 'click: th.theta .sort' 'click: th.theta .sort' \
	'wait: document.querySelector("th.theta").ariaSort === "descending"' \
	"\"unsorted: \" + $order" \
	"{ $field fill('Filter', 'ffn_up'); fill('Type', 'Q4_K'); fill('Class', 'organs');
		fill('Greatest θ', '36.5'); } 0" \
	'wait: document.querySelector(".tools [role=status]").innerText.includes("of 57")' "$rows" \
	'hover: tr.leaf .organ' 'wait: !document.querySelector("#card").hidden' \
	"$(text_of '#card')" \
	'click: tr.leaf .organ' 'wait: document.querySelector("dialog .histogram")' \
	"$(text_of dialog)" 'key: Escape' 'wait: !document.querySelector("dialog")' >"$TMP/seen"
sees '"unsorted: 0"' 'blk_1_ffn_up' entropy 'from clerk-Q4_K_M' '131072 values' 'Replace by'
! grep -q 'blk_0_ffn_up\|blk_1_ffn_down' "$TMP/seen" || fail "not filtered: $(cat "$TMP/seen")"

# Undo of one change, of a group, of all; one graft accepted, one refused, one to a new block.
undo() {
	echo "[...document.querySelectorAll('button')].find((b) =>
		b.ariaLabel?.startsWith('Undo $1') ||
		b.innerText === '$1').click()"
}
browse "$URL" "$loaded" "$(undo 'blk 1-4 ffn_* from clerk-Q4_K_M')" "$(says '12 changes undone')" \
	'wait: !document.querySelector(".grafts").innerText.includes("ffn_*")' \
	"$(undo 'blk 5 ffn_up removed')" "$(says '1 change undone')" \
	'wait: !document.querySelector(".grafts").innerText.includes("blk 5")' \
	"$(text_of .grafts)" \
	"$(undo 'Undo all')" "$(says '2 changes undone')" \
	'wait: document.querySelector(".grafts").innerText.includes("None")' \
	"$(drop blk_4_ffn_up.bin /organs/blk_1_ffn_up.bin)" "$(says '1 file grafted')" \
	"$(drop blk_0_ffn_up.bin /.log)" "$(says 'organs/blk_0_ffn_up.bin: graft refused')" \
	"$(drop x.bin /.log)" "$(says 'x.bin: no slot has such a name')" \
	"$(drop blk_9_ffn_up.bin /organs/blk_1_ffn_up.bin)" \
	'wait: document.querySelector(".grafts").innerText.includes("blk 9")' \
	'click: .verdict-bar button' 'wait: document.querySelector("dialog")' \
	"$(text_of dialog)" 'click: dialog button.main' "$(says 'blocks have to run from 0')" \
	"$(undo 'blk 9')" "$(says '1 change undone')" \
	'click: .verdict-bar input' 'type: chimera.gguf' 'key: Enter' \
	"$(says 'assembled: chimera.gguf')" \
	>"$TMP/seen"
sees 'blk 6 ffn_up from blk 1 of clerk-Q4_K_M' \
	'Write scribe-Q4_K_M.grafted.gguf, though it is impossible'
equal "$(cut -f 1 "$MNT/.grafts")" organs/blk_4_ffn_up.bin
same "$TMP/out/chimera.gguf" "$MNT/model.gguf"

# An impossible model is written only after a confirmation; on a narrow page the picture has a
# scroll bar, and the model's name appears once.
rm "$MNT/organs/blk_3_ffn_up.bin"
browse "$URL" 'size: 420x900' "$loaded" "$shown" 'click: .verdict-bar button' \
	'wait: document.querySelector("dialog")' 'key: Escape' \
	'wait: !document.querySelector("dialog")' \
	'[...document.querySelectorAll("h1")].map((heading) => heading.innerText).join()' \
	'{ const frame = document.querySelector(".picture .scroll"); "scrolls: " +
		(frame.scrollWidth > frame.clientWidth &&
			frame.offsetHeight > frame.clientHeight); }' \
	"$(text_of .picture)" >"$TMP/seen"
sees '"scribe-Q4_K_M"' '"scrolls: true"' 'θ is an angle'
absent "$TMP/scribe-Q4_K_M.grafted.gguf"
echo organs/blk_3_ffn_up.bin >"$MNT/.undo"

# Metadata are edited in place; an invalid text is refused.
editing='wait: document.activeElement.matches(".edit input")'
edit='click: button[aria-label="Edit llama.context_length"]'
browse "$URL" "$loaded" "$edit" "$editing" 'type: many' 'key: Enter' \
	'wait: document.querySelector(".edit [role=alert]").innerText' \
	"$(text_of '.edit [role=alert]')" \
	'key: Escape' 'wait: !document.querySelector(".edit")' "$edit" "$editing" \
	'type: 4096' 'key: Enter' \
	'wait: document.querySelector(".metadata .changed")?.innerText.includes("4096")' \
	"$(text_of .changed)" >"$TMP/seen"
sees 'metadata/llama.context_length: refused' 4096 edited
equal "$(cat "$MNT/metadata/llama.context_length")" 4096
browse "$URL" "$loaded" "click: .metadata [aria-label='Undo llama.context_length']" \
	"$(says '1 change undone')" \
	'wait: !document.querySelector(".metadata .changed")' >"$TMP/seen"
equal "$(cut -f 1 "$MNT/.grafts")" organs/blk_4_ffn_up.bin

# Others' changes appear without a reload; open, focused and scrolled elements stay. (The browser
# scrolls when content above grows, so that the visible part stays in place.)
top='document.activeElement.getBoundingClientRect().top'
browse "$URL" "$loaded" "$shown" 'size: 1200x800' \
	'click: [data-part=fold][aria-expanded=false]' 'click: .report summary' \
	'wait: document.querySelector(".report pre").innerText.includes("wells")' \
	'click: tr.leaf [type=checkbox]' "window.place = $top; 0" \
	"shell: cp '$TMP'/donor/organs/blk_[0-3]_ffn_gate.bin '$MNT/organs/'" \
	'wait: document.querySelector(".grafts").innerText.includes("blk 0-3 ffn_gate from")' \
	'wait: document.querySelector(".organs").innerText.includes("4 from clerk-Q4_K_M")' \
	"[scrollY > 0, Math.abs($top - place) < 1]" \
	'[document.querySelector(".report details").open,
		document.activeElement.type, document.activeElement.checked]' \
	"shell: printf x >'$MNT/organs/blk_0_ffn_up.bin' || true" \
	'wait: document.querySelector(".log").innerText.includes("refused")' >"$TMP/seen"
equal "$(tail -n 2 "$TMP/seen")" $'[true, true]\n[true, "checkbox", true]' 'unchanged elements'

# This holds during long measurements; the focus stays on a button of a remaining line.
endless='const f = fetch; window.fetch = (url, init) =>
	/manifest.json$/.test(url) && !init.headers ? f(url, init).then((answer) =>
		new Response(new ReadableStream(), answer)) : f(url, init); 0'
browse "$URL" "$loaded" "$endless" \
	"document.querySelector('[aria-label^=\"Undo blk 4 ffn_up\"]').focus(); 0" \
	"shell: cp '$TMP/donor/organs/blk_0_ffn_down.bin' '$MNT/organs/'" \
	'wait: document.querySelector(".grafts").innerText.includes("blk 0 ffn_down")' \
	"shell: rm '$MNT/organs/blk_3_ffn_down.bin'" \
	'wait: document.querySelector(".grafts").innerText.includes("blk 3 ffn_down removed")' \
	'document.activeElement.ariaLabel' >"$TMP/seen"
sees '"Undo blk 4 ffn_up'

# When the server is back, everything is as before.
restarted=$TMP/restarted
answers='document.querySelector(".verdict-bar").innerText.includes("answer")'
port=${URL##*:}
browse "$URL" "$loaded" "wait: !$answers" \
	"shell: kill $SERVER; while curl -s -o '$TMP/answer' '$URL'; do sleep 0.1; done" \
	"wait: $answers" \
	"shell: '$here/../../mount-helpers/organ-serve' --no-token --output '$TMP/out' '$MNT' \
		${port%/} >'$restarted' 2>&1 </dev/null & echo \$! >'$TMP/pid'
		until curl -s -o '$TMP/answer' '$URL'; do sleep 0.1; done" \
	"wait: !$answers" "$(text_of .verdict-bar)" >"$TMP/seen"
sees 'impossible: blk 3 lacks ffn_down'
! wait "$SERVER" || fail "organ-serve does not end by the signal"
HTTPD=$(cat "$TMPDIR"/organ-serve.*/pid)
browse "${URL}metadata/" "$loaded" "$(text_of '#listing')" >"$TMP/seen"
sees general.architecture
until_true 60 fusermount3 -q -u "$MNT" || fail "$MNT cannot be unmounted"
wait_daemon
has_ended() {
	! kill -0 "$(cat "$TMP/pid")" 2>"$TMP/.said"
}
until_true 60 has_ended || fail 'organ-serve goes on without a mount'
no_server
unmount_and_wait "$TMP/donor"

# Several read-only models, and values, have names that look like markup.
evil='<img src=x onerror=alert(1)>'
mkdir "$TMP/models"
cp "$MODELS/stories260K.gguf" "$TMP/models/$evil.gguf"
cp "$MODELS/stories260K-q8_0.gguf" "$TMP/models/b.gguf"
mount_model "$TMP/models"
for key in general.name general.architecture "$evil"; do
	printf '%s' "$evil" >"$MNT/b/metadata/$key"
done
serve --read-only "$MNT"
elements='[...document.querySelectorAll("main img, main script")].map((e) => e.alt).join()'
changes='[...document.querySelectorAll("form, button")].filter((e) => e.checkVisibility() &&
	/Assemble|Undo|Edit|Remove|Add/.test(e.innerText)).length'
first=$(python3 -c 'import sys, urllib.parse as p; print(p.quote(sys.argv[1]))' "$evil")
browse "$URL" "$loaded" "$(text_of main)" >"$TMP/seen"
sees "$evil" b 'Side by side'
! command -v getfattr >/dev/null ||
	equal "$(getfattr --only-values -n user.organfs.measured "$MNT/b")" 0 'tensors measured'
browse "${URL}b/" "$loaded" "$shown" "$elements" "$changes" "$URL$first/" "$loaded" "$shown" \
	"$elements" "$changes" "${URL}b/metadata/" "$loaded" "$elements" "$(text_of '#listing')" \
	>"$TMP/seen"
picture='"θ of every tensor: blocks across, the parts they play down"'
equal "$(head -n -1 "$TMP/seen")" "$(printf '%s\n' "$picture" 0 "$picture" 0 '""')" \
	'the page of hostile models'
sees '<img src=x'
unmount_served

#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The page that organ-serve shows: what is on it, what its buttons do, and names that are no markup.
. "${0%/*}/lib.sh"

not_sanitized
need chromium
browse() {
	timeout 60 "$here/../tools/browse.py" "$@" 2>"$TMP/.said" || fail "$1: $(cat "$TMP/.said")"
}
# Until nothing more is on its way.
loaded='new Promise((resolve) => { const i = setInterval(() => {
	if (document.body?.dataset.state === "loaded") { clearInterval(i); resolve(true); }
}, 50); })'
again='delete document.body.dataset.state'
text_of() {
	echo "document.getElementById('$1').innerText"
}
# drop NAME ADDRESS: what lies at ADDRESS, as a file of that name.
drop() {
	echo "(async () => { $again; const data = new DataTransfer();
		data.items.add(new File([await (await fetch('$2')).blob()], '$1'));
		document.dispatchEvent(new DragEvent('drop', {dataTransfer: data})); })()"
}

sees() {
	local words
	for words; do
		grep -qF -- "$words" "$TMP/seen" || fail "$words is not seen: $(cat "$TMP/seen")"
	done
}

mount_model "$(use scribe-Q4_K_M)"
cp "$MNT/organs/blk_2_ffn_up.bin" "$MNT/organs/blk_3_ffn_up.bin"
mkdir "$TMP/out"
serve --output "$TMP/out" "$MNT"
theta=$(cat "$MNT/organs/blk_0_ffn_up.theta")
assemble='(async () => { document.querySelector("#assembly input").value = "chimera.gguf";
	await assemble(new Event("submit"));
	return document.querySelector("#assembly p").innerText; })()'

# What is there; undo; a graft, one that is refused, one to a new block; assemblies; a directory.
browse "$URL" "$loaded" document.title "$(text_of facts)" "$(text_of report)" "$(text_of check)" \
	'document.querySelector("#picture img").naturalWidth' \
	'[...document.querySelectorAll("#classes tr")].map((row) => row.innerText).join("\n")' \
	"$again; document.querySelector('#grafts button').click()" "$loaded" \
	'"grafts hidden: " + document.querySelector("#grafts").hidden' \
	"$(drop blk_4_ffn_up.bin /organs/blk_1_ffn_up.bin)" "$loaded" \
	"$(drop blk_0_ffn_up.bin /.log)" "$loaded" \
	"$(drop blk_9_ffn_up.bin /organs/blk_1_ffn_up.bin)" "$loaded" \
	"$(drop x.bin /.log)" "$loaded" "$(text_of said)" "$(text_of grafts)" "$assemble" \
	"$again; document.querySelectorAll('#grafts button')[1].click()" "$loaded" "$assemble" \
	"${URL}metadata/" "$loaded" "$(text_of listing)" >"$TMP/seen"
sees '"scribe-Q4_K_M"' 'llama · 57 tensors' 'mean elements' 'risky' 860 \
	"blk_0_ffn_up\\tQ4_K\\t256 × 512\\t73.8 kB\\t $theta" 'grafts hidden: true' \
	'organs/blk_4_ffn_up.bin: grafted' 'organs/blk_0_ffn_up.bin: graft refused' \
	'organs/blk_9_ffn_up.bin: grafted' 'x.bin: no slot has such a name' \
	'organs/blk_4_ffn_up.bin\tcopy' 'failed: chimera.gguf: blocks have to run from 0' \
	'"assembled: chimera.gguf' general.architecture
equal "$(cut -f 1 "$MNT/.grafts")" organs/blk_4_ffn_up.bin
same "$TMP/out/chimera.gguf" "$MNT/model.gguf"
unmount_served

# Models and values that are called as if they were markup, several of them, and only to be read.
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
is_hidden='document.querySelector("#drop").hidden'
first=$(python3 -c 'import sys, urllib.parse as p; print(p.quote(sys.argv[1]))' "$evil")
browse "$URL" "$loaded" "$(text_of models)" >"$TMP/seen"
sees "$evil" b
! command -v getfattr >/dev/null ||
	equal "$(getfattr --only-values -n user.organfs.measured "$MNT/b")" 0 'tensors measured'
browse "${URL}b/" "$loaded" "$elements" "$is_hidden" "$URL$first/" "$loaded" "$elements" \
	"$is_hidden" "${URL}b/metadata/" "$loaded" "$elements" "$(text_of listing)" >"$TMP/seen"
picture='"θ of every tensor: blocks across, the parts they play down"'
equal "$(head -n -1 "$TMP/seen")" "$(printf '%s\n' true "$picture" true true "$picture" true \
	true '""')" 'what is shown of models that are not to be trusted'
sees '<img src=x'
unmount_served

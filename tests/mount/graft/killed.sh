#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# plain: killed processes report nothing
# A graft's donor is known after a kill of the daemon too, for each kind of writer: cp, rsync, tar,
# pipes, links, and PUT and COPY over HTTP.
. "${0%/*}/../lib.sh"

need rsync jq
base=$(use scribe-Q4_K_M)
donor=$(use clerk-Q4_K_M)
other=$MNT.donor
mkdir "$other" "$TMP/pool"
cp "$donor" "$TMP/pool/clerk.gguf"
mount_model -o noassemble "$donor" "$other"
mount_again() {
	mount_model -o "layer=$TMP/layer,noassemble" "$base"
}
mount_again

# Save all texts on grafts and their donors in $TMP/NAME.*.
tell() {
	cp "$MNT/.grafts" "$TMP/$1.grafts"
	cp "$MNT/.recipe" "$TMP/$1.recipe"
	jq '.tensors[] | select(.grafted) | {file, graft}' "$MNT/.report.json" >"$TMP/$1.report"
}
# Kill the daemon and compare its texts before and after.
survives() {
	local what bytes
	bytes=$(checksum "$slot")
	tell before
	kill_daemon
	mount_again
	tell after
	for what in grafts recipe report; do
		diff "$TMP/before.$what" "$TMP/after.$what" >"$TMP/diff" ||
			fail "$1: .$what is another after the kill: $(cat "$TMP/diff")"
	done
	equal "$(checksum "$slot")" "$bytes" "$1: bytes"
	echo all >"$MNT/.undo"
}
# from HOW FILE [TENSOR [VIEW]]: check the slot's donor in .grafts, .report.json and .recipe; -
# stands for unknown.
from() {
	local file=organs/blk_2_ffn_up.bin tensor=${3:--} view=${4:--}
	equal "$(awk -F '\t' -v file="$file" '$1 == file { print $2, $8, $9 }' "$MNT/.grafts")" \
		"$1 $2 $tensor"
	equal "$(jq -r --arg file "$file" '.tensors[] | select(.file == $file).graft
		| "\(.how) \(.file // "-") \(.tensor // "-") \(.view // "-")"' \
		"$MNT/.report.json")" \
		"$1 $2 $tensor $view"
	grep -A 7 "slot: ${file%.bin}" "$MNT/.recipe" >"$TMP/graft"
	equal "$(sed -n 's/^  from: //p' "$TMP/graft")" "${tensor#-}"
}
# organ-serve ends with the mount, unless the next one exists when it checks.
end_serving() {
	kill "$SERVER" 2>/dev/null || true
	wait "$SERVER" || true
	no_server
}
organ=$other/organs/blk_2_ffn_up.bin
slot=$MNT/organs/blk_2_ffn_up.bin
tensor=blk.2.ffn_up.weight

# The writer's open file tells the donor and its kind.
cp "$organ" "$slot"
from copy "$donor" $tensor
survives cp
cat "$organ" >"$slot"
from copy "$donor" $tensor
survives cat
cp "$organ" "$TMP/organ"
cp "$TMP/organ" "$slot"
from copy "$TMP/organ"
survives 'cp of an organ file'
cp "$MNT/.views/spectral/organs/blk_2_ffn_up.bin" "$slot"
from copy "$base" $tensor spectral
survives 'cp of a view'

# Bytes from another process, or over the network, tell no donor.
cat "$organ" | cat >"$slot"
from copy -
survives 'a pipe'
rsync -a "$organ" "$slot"
from copy -
survives rsync
tar -C "$other" -cf - organs/blk_2_ffn_up.bin | tar -C "$MNT" -xf -
from copy -
survives tar
serve "$MNT"
status 204 -T "$organ" "${URL}organs/"
from copy -
survives PUT
end_serving

# COPY reads the donor on the server.
serve --models "$TMP/pool" "$MNT"
status 201 -d clerk.gguf "$URL.models"
status 200 -X COPY -H 'Destination: /organs/' "$URL.models/clerk/organs/"
from copy "$TMP/pool/clerk.gguf" $tensor
equal "$(cut -f 8 "$MNT/.grafts" | sort | uniq -c | tr -s ' ')" " 18 $TMP/pool/clerk.gguf"
survives 'COPY of a class'
end_serving

# A link leads to its target, before and after.
ln -sf "$organ" "$slot"
from link "$donor" $tensor
survives 'ln -s'
cp "$organ" "$MNT/organs/blk_3_ffn_up.bin"
ln -f "$MNT/organs/blk_3_ffn_up.bin" "$slot"
from copy "$donor" $tensor
survives 'ln of a graft'
unmount_and_wait
unmount_and_wait "$other"

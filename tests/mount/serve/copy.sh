#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# release: every request that the scripts of organ-serve answer
# plain: its clients are scripts and programs of others
# COPY of a class over HTTP copies all its organs or none, and reports an outcome for each.
. "${0%/*}/../lib.sh"

need python3 jq
mkdir "$TMP/models"
cp "$MODELS/scribe-Q4_K_M.gguf" "$TMP/models/scribe.gguf"
cp "$MODELS/clerk-Q4_K_M.gguf" "$TMP/models/clerk.gguf"
"$LORA" make "$TMP/models/scribe.gguf" "$TMP/style.gguf" 'blk.3.ffn_gate.weight'
mount_held pwrite64 -o noassemble "$TMP/models"
scribe=$MNT/scribe
clerk=$MNT/clerk
serve "$MNT"

# copy STATUS FROM TO CURL-ARGUMENTS...: send COPY.
copy() {
	local expected=$1 from=$2 to=$3
	shift 3
	status "$expected" -X COPY -H "Destination: $to" "$@" "$URL$from"
}
no_scratch() {
	[ -z "$(find "$MNT" -name '.organ-serve*')" ]
}
grafts() {
	cut -f 1-2 "$scribe/.grafts"
}
outcomes() {
	grep -c $'\t'"$1\$" "$TMP/answer" || true
}

# A class is copied as references, then another one by a client that wants JSON, and back.
copy 200 clerk/organs/ "${URL}scribe/organs/"
equal "$(outcomes copied)" 18
grep -qx $'/scribe/organs/blk_2_ffn_up.bin\tcopied' "$TMP/answer" || fail "$(cat "$TMP/answer")"
equal "$(grafts | grep -c $'^organs/.*\treference$')" 18
same "$scribe/organs/blk_2_ffn_up.bin" "$clerk/organs/blk_2_ffn_up.bin"
copy 200 clerk/norm /scribe/norm -H 'Accept: application/json' -H 'Depth: infinity' \
	-H "Origin: ${URL%/}"
equal "$(jq -r '.copied, (.organs | length), .organs[-1].path, .organs[-1].outcome' "$TMP/answer" |
	tr '\n' ' ')" '12 12 /scribe/norm/blk_5_ffn_norm.bin copied '
copy 200 scribe/.base/organs/ /scribe/organs
copy 200 scribe/.base/norm/ /scribe/norm/
equal "$(grafts)" ''
no_scratch || fail 'a scratch file is left'

# Some requests are refused before any change.
copy 400 clerk/organs/ /scribe/organs/ -H 'Depth: 0'
copy 400 clerk/organs/ ''
copy 403 scribe/organs/ /scribe/organs/
copy 403 clerk/organs/ /scribe/organs/ -H 'Origin: http://example.com'
copy 403 clerk/organs/ /scribe/organs/ -H 'Sec-Fetch-Site: cross-site'
copy 403 clerk/ /scribe/
copy 404 nothing/organs/ /scribe/organs/
copy 409 clerk/organs/ /scribe/nothing/
copy 409 clerk/organs/ /scribe/.base/organs/
copy 409 clerk/organs/ /scribe/metadata/
copy 409 clerk/organs/ /scribe/organs/blk_2_ffn_up.bin
copy 412 clerk/organs/ /scribe/organs/ -H 'Overwrite: F'
copy 502 clerk/organs/ http://localhost:1/scribe/organs/
for to in scribe/../../organs scribe/%2e%2e/organs scribe/organs/%2e%2e/organs /scribe/organs; do
	copy 400 clerk/organs/ "/$to"
done
status 404 --path-as-is -X COPY -H 'Destination: /scribe/organs/' \
	"$URL%2e%2e/%2e%2e$TMP/organs/"
equal "$(grafts)" ''

# One slot is refused after others are done, because the donor's link leads to no organ any more.
# All slots are restored: those grafted by reference, by copy and by link, the removed ones, and
# the merged ones.
cat "$scribe/organs/blk_1_ffn_up.bin" >"$TMP/organ"
cp "$TMP/organ" "$TMP/linked"
ln -sf "$TMP/linked" "$clerk/organs/blk_4_ffn_up.bin"
cp "$clerk/organs/blk_5_ffn_up.bin" "$scribe/organs/blk_0_ffn_up.bin"
cat "$TMP/organ" >"$scribe/organs/blk_2_ffn_up.bin"
ln -sfn "$TMP/organ" "$scribe/organs/blk_3_ffn_up.bin"
rm "$scribe/organs/blk_1_ffn_gate.bin"
cp "$clerk/organs/blk_5_ffn_gate.bin" "$scribe/organs/blk_3_ffn_gate.bin"
ln -s "$TMP/style.gguf" "$scribe/adapters/"
status 403 "${URL}scribe/adapters/style.gguf"
cp "$clerk/organs/blk_1_ffn_up.bin" "$clerk/organs/blk_6_ffn_up.bin"
before=$(grafts)
merged=$(checksum "$scribe/organs/blk_3_ffn_gate.bin")
model=$(checksum "$scribe/model.gguf")
grep -q $'blk_3_ffn_gate.bin\treference merged' <<<"$before" || fail "$before"
head -c "$(stat -c %s "$TMP/organ")" /dev/zero >"$TMP/linked"
is_as_before() {
	equal "$(grafts)" "$before"
	equal "$(readlink "$scribe/organs/blk_3_ffn_up.bin")" "$TMP/organ"
	equal "$(checksum "$scribe/organs/blk_3_ffn_gate.bin")" "$merged"
	equal "$(checksum "$scribe/model.gguf")" "$model"
	no_scratch || fail 'a scratch file is left'
}
copy 422 clerk/organs/ /scribe/organs/
answer_says '^scribe/organs/blk_4_ffn_up.bin: graft refused: .*keeps its content$'
equal "$(outcomes refused)" 1
equal "$(outcomes undone)" 15
equal "$(outcomes 'not tried')" 3
is_as_before
copy 422 clerk/organs/ /scribe/organs/ -H 'Accept: application/json'
equal "$(jq -r '.status, .path, ([.organs[] | select(.outcome == "undone")] | length)' \
	"$TMP/answer" | tr '\n' ' ')" '422 /clerk/organs/ 15 '
is_as_before

# Unfitting slots are tried first, before any change.
copy 422 clerk/organs/ /scribe/norm/
answer_says 'norm/blk_.*: graft refused: '
equal "$(outcomes undone)" 0
is_as_before

# A client that hangs up leaves nothing, and a signal does not end the program halfway.
cp "$TMP/organ" "$TMP/linked"
# begin: start a COPY in which some organs are done and the next one waits until release.
arrived=0
begin() {
	curl -sS -m 60 -o "$TMP/answer" -X COPY -H 'Destination: /scribe/organs/' \
		"${URL}clerk/organs/" &
	client=$!
	# An organ takes several writes, to its file and to the database's log.
	while [ "$(grafts)" = "$before" ]; do
		hold
		until_true 60 have_arrived $((arrived += 1)) || late 'no organ is written'
	done
}
is_undone() {
	[ "$(grafts)" = "$before" ] && no_scratch
}
begin
kill "$client"
wait "$client" || true
release
until_true 30 is_undone || is_as_before
is_as_before
begin
kill "$SERVER"
wait "$SERVER" || true
release
until_true 30 is_undone || is_as_before
is_as_before
no_server
serve "$MNT"
begin
pkill -TERM -s "$HTTPD" -f /put || fail 'no program'
release
wait "$client"
equal "$(outcomes copied)" 19
unmount_served

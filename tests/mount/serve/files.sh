#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# release: every request that the scripts of organ-serve answer
# plain: its clients are scripts and programs of others
# organ-serve serves the mount's files with the same bytes.
. "${0%/*}/../lib.sh"

scribe=$(use scribe-Q4_K_M)
mkdir "$TMP/donor" "$TMP/cp" "$TMP/out"
mount_model -o ro "$MODELS/clerk-Q4_K_M.gguf" "$TMP/donor"
mount_model -o noassemble "$scribe" "$TMP/cp"
cp "$TMP"/donor/organs/*_ffn_*.bin "$TMP/cp/organs/"
cp "$TMP/cp/model.gguf" "$TMP/expected.gguf"
cp -r "$TMP/donor" "$TMP/donated"
unmount_and_wait "$TMP/cp"
rm -rf "$XDG_STATE_HOME/organfs"
unmount_and_wait "$TMP/donor"
donor=$TMP/donated/organs

# The name is encoded with an escape and a digit behind it.
MNT="$TMP/a 1"
mkdir "$MNT"
mount_model "$scribe"
serve --output "$TMP/out" "$MNT"
up=${URL}organs/blk_2_ffn_up.bin
etag() {
	curl -sS -I "$1" | tr -d '\r' | sed -n 's/^ETag: //p'
}

# Reads: lists and known sizes measure nothing.
status 207 -X PROPFIND -H 'Depth: 1' "${URL}organs/"
equal "$(grep -c '<D:href>/organs/blk_' "$TMP/answer")" 36 'organs and their theta'
answer_says ">$(stat -c %s "$MNT/organs/blk_2_ffn_up.bin")</D:getcontentlength>"
status 207 -X PROPFIND -H 'Depth: 0' "$URL.base/organs/"
status 200 -I "${URL}theta.svg"
equal "$(tr -d '\r' <"$TMP/answer" | sed -n 's/^Content-Length: //p')" \
	"$(stat -c %s "$MNT/theta.svg")"
if command -v getfattr >/dev/null; then
	equal "$(getfattr --only-values -n user.organfs.measured "$MNT")" 0 'tensors measured'
fi
for file in model.gguf organs/blk_2_ffn_up.bin organs/blk_2_ffn_up.theta .theta manifest.json \
	theta.svg .check .log .report.json metadata/general.name .base/organs/blk_0_ffn_up.bin; do
	status 200 "$URL$file"
	same "$TMP/answer" "$MNT/$file"
done
status 206 -r 1000-200999 "${URL}model.gguf"
cmp "$TMP/answer" <(tail -c +1001 "$scribe" | head -c 200000) || fail 'a range'
status 206 -r -6 "$up"
cmp "$TMP/answer" <(tail -c 6 "$MNT/organs/blk_2_ffn_up.bin") || fail 'a range at the end'
status 404 "${URL}organs/nothing.bin"

# A refusal has a reason, and changes nothing.
before=$(checksum "$MNT/model.gguf")
status 422 -T /etc/passwd "$up"
answer_says '^organs/blk_2_ffn_up.bin: graft refused: '
status 422 -T /dev/null "$up"
status 422 -T "$TMP/donated/norm/blk_2_ffn_norm.bin" "$up"
answer_says shape
status 422 -T - "$up" </etc/passwd
status 422 -X PUT -d 'no number' "${URL}metadata/llama.context_length"
answer_says '^metadata/llama.context_length: refused'
status 400 -T "$donor/blk_2_ffn_up.bin" -H 'Content-Range: bytes 0-9/10' "$up"
status 412 -T "$donor/blk_2_ffn_up.bin" -H 'If-None-Match: *' "$up"
status 412 -T "$donor/blk_2_ffn_up.bin" -H "If-None-Match: $(etag "$up")" "$up"
status 412 -T "$donor/blk_2_ffn_up.bin" -H 'If-Match: "1"' "$up"
answer_says '^organs/blk_2_ffn_up.bin: .*another one'
status 412 -T "$donor/blk_2_ffn_up.bin" -H 'If-Match: *' "${URL}organs/blk_99_ffn_up.bin"
status 409 -T "$donor/blk_2_ffn_up.bin" "${URL}nowhere/x.bin"
status 409 --path-as-is -T "$donor/blk_2_ffn_up.bin" "${URL}organs/%2e%2e/%2e%2e/out/x"
status 405 -X PUT "${URL}organs"
status 403 -T /etc/passwd "${URL}model.gguf"
status 403 -X MKCOL "${URL}organs/new/"
status 405 -X MKCOL "${URL}organs/"
# A client that hangs up early has grafted nothing.
(
	printf 'PUT /organs/blk_2_ffn_up.bin HTTP/1.1\r\nHost: localhost\r\n'
	printf 'Content-Length: %d\r\n\r\n' "$(stat -c %s "$donor/blk_2_ffn_up.bin")"
	head -c 5000 "$donor/blk_2_ffn_up.bin"
) >"/dev/tcp/127.0.0.1/$(echo "$URL" | grep -o '[0-9]*/$' | tr -d /)"
equal "$(checksum "$MNT/model.gguf")" "$before" model.gguf
equal "$(cat "$MNT/.grafts")" '' .grafts
no_scratch() {
	[ -z "$(find "$MNT" -name '.organ-serve*')" ]
}
until_true 60 no_scratch || fail 'a scratch file is left'

# No request removes or overwrites a directory.
for dir in '' organs organs/ organs/. 'organs/%2e' .base; do
	status 403 --path-as-is -X DELETE "$URL$dir"
	status 403 --path-as-is -X MOVE -H "Destination: ${URL}other/" "$URL$dir"
	status 403 --path-as-is -X COPY -H "Destination: $URL$dir" "$up"
done
status 404 "$URL.organ-serve/put"
status 404 "$URL.organ-serve/refused"
status 404 "$URL.organ-serve/refused/organs/blk_2_ffn_up.bin"
status 409 -X MKCOL "$URL.organ-serve/page/new"
status 403 -X COPY -H "Destination: ${URL}organs/x%2f.." "$up"

# Every refusal is a sentence, from the mount or the server.
sentence() {
	local expected=$1
	shift
	status "$expected" "$@" -D "$TMP/headers"
	grep -qi '^Content-Type: text/plain' "$TMP/headers" || fail "$*: $(cat "$TMP/headers")"
	grep -Eq '^[^<>]+[.a-z]$' "$TMP/answer" || fail "$* is answered: $(cat "$TMP/answer")"
}
says() {
	local words=$1
	shift
	sentence "$@"
	answer_says "$words"
}
norm=${URL}norm/blk_2_ffn_norm.bin
says 'organs/blk_2_ffn_up.bin: graft refused: .*keeps its content' \
	422 -X COPY -H "Destination: ${URL}organs/blk_2_ffn_up.bin" "$norm"
says 'organs/blk_2_ffn_up.bin: graft refused: .*shape' \
	422 -X MOVE -H "Destination: ${URL}organs/blk_2_ffn_up.bin" "$norm"
says 'such file' 404 "${URL}organs/nothing.bin"
says 'such file' 404 -X DELETE "${URL}organs/nothing.bin"
says 'such file' 404 -X PROPFIND -H 'Depth: 0' "${URL}nothing"
says 'directories of classes' 403 -X DELETE "$URL.log"
says 'localhost' 403 -H 'Host: example.com' "$URL"
says 'localhost' 403 -H 'Host: example.com' -X DELETE "$up"
says 'condition' 412 -X COPY -H 'Overwrite: F' -H "Destination: ${URL}organs/blk_3_ffn_up.bin" "$up"
says 'another server' 502 -X COPY -H "Destination: http://localhost:1/organs/x.bin" "$up"
says 'range' 416 -r 999999999- "$up"
sentence 403 -X MKCOL "${URL}organs/new"
sentence 411 -X POST "${URL}organs/nothing.bin"
sentence 400 -H 'Content-Length: x' "$up"
equal "$(cat "$MNT/.grafts")" '' .grafts

# A graft changes the ETags of its slot and of the files that describe it.
declare -A was
for file in organs/blk_2_ffn_up.bin .grafts .theta manifest.json theta.svg model.gguf; do
	was[$file]=$(etag "$URL$file")
done
for file in "$donor"/*_ffn_*.bin; do
	etag=$(etag "${URL}organs/${file##*/}")
	status 204 -T "$file" -H "If-Match: \"1\", $etag" "${URL}organs/"
	status 412 -T "$file" -H "If-Match: $etag" "${URL}organs/"
done
for file in "${!was[@]}"; do
	[ "$(etag "$URL$file")" != "${was[$file]}" ] || fail "$file has the ETag it had"
done
status 304 -H "If-None-Match: $(etag "$up")" "$up"
status 200 -H "If-None-Match: ${was[organs/blk_2_ffn_up.bin]}" "$up"
same "$TMP/answer" "$donor/blk_2_ffn_up.bin"
status 200 "${URL}model.gguf"
same "$TMP/answer" "$TMP/expected.gguf"

# Assembly takes only plain names, in the directory given for it.
status 200 -X PUT -d chimera.gguf "$URL.assemble"
answer_says '^assembled: chimera.gguf: '
same "$TMP/out/chimera.gguf" "$TMP/expected.gguf"
status 200 -X PUT "$URL.assemble"
same "${scribe%.gguf}.grafted.gguf" "$TMP/expected.gguf"
status 200 -X PUT -d 'c-%05d-of-%05d.gguf split=1M' "$URL.assemble"
exists "$TMP/out/c-00001-of-00003.gguf"
for name in "$TMP/x.gguf" ../x.gguf .. . $'a\nb'; do
	status 400 -X PUT --data-binary "$name" "$URL.assemble"
done
mkdir "$TMP/out/taken"
status 409 -X PUT -d taken "$URL.assemble"
answer_says 'Is a directory'

# COPY, MOVE and DELETE work like cp, mv and rm: on slots, references, metadata.
for file in "$donor"/*_ffn_*.bin; do
	status 204 -X COPY -H "Destination: /organs/${file##*/}" "$URL.base/organs/${file##*/}"
done
equal "$(cat "$MNT/.grafts")" '' 'grafts that were undone'
status 204 -X COPY -H "Destination: ${URL}organs/blk_3_ffn_up.bin" "$up"
equal "$(cut -f 1-2 "$MNT/.grafts")" $'organs/blk_3_ffn_up.bin\treference' COPY
status 204 -X MOVE -H "Destination: ${URL}organs/blk_3_ffn_up.bin" "${URL}organs/blk_4_ffn_up.bin"
absent "$MNT/organs/blk_4_ffn_up.bin"
status 204 -X DELETE "${URL}organs/blk_3_ffn_up.bin"
absent "$MNT/organs/blk_3_ffn_up.bin"
status 201 -T "$donor/blk_3_ffn_up.bin" "${URL}organs/"
same "$MNT/organs/blk_3_ffn_up.bin" "$donor/blk_3_ffn_up.bin"
status 204 -X PUT -d 4096 "${URL}metadata/llama.context_length"
equal "$(cat "$MNT/metadata/llama.context_length")" 4096
status 201 -X PUT -d 'a chimera' "${URL}metadata/general.comment"
equal "$(cat "$MNT/metadata/general.comment")" 'a chimera'
status 204 -T "$donor/blk_3_ffn_up.theta" "${URL}organs/"
status 201 -X PUT -d x "${URL}metadata/a%20key,%20%25%C3%A4%3F?a=b"
equal "$(cat "$MNT/metadata/a key, %ä?")" x
status 204 -X DELETE "${URL}metadata/a%20key,%20%25%C3%A4%3F"
absent "$MNT/metadata/a key, %ä?"

# Some clients lock a file before they write, and begin with an empty one.
lock='<D:lockinfo xmlns:D="DAV:"><D:lockscope><D:exclusive/></D:lockscope>
	<D:locktype><D:write/></D:locktype></D:lockinfo>'
status 201 -X PUT "${URL}organs/blk_6_ffn_up.bin"
status 403 -X LOCK -H 'Content-Type: text/xml' -d "$lock" "$URL.organ-serve/page/new"
status 200 -X LOCK -H 'Content-Type: text/xml' -d "$lock" -D "$TMP/headers" "$up"
token=$(tr -d '\r' <"$TMP/headers" | sed -n 's/^Lock-Token: //Ip')
status 423 -X DELETE "$up"
status 204 -T "$donor/blk_2_ffn_up.bin" -H "If: ($token)" "$up"
status 204 -X UNLOCK -H "Lock-Token: $token" "$up"
status 204 -X DELETE "$up"

# A page of another site whose name resolves to this server gets nothing; the server's own page
# runs no foreign script.
for method in GET PUT DELETE PROPFIND OPTIONS; do
	status 403 -X $method -H 'Host: example.com' "${URL}organs/blk_2_ffn_gate.bin"
done
status 200 -H 'Host: localhost:1' "$URL.grafts"
status 200 -D "$TMP/headers" "$URL"
grep -qi "^Content-Security-Policy: default-src 'none'; script-src 'self'; .*trusted-types" \
	"$TMP/headers" || fail 'no policy'
grep -qi '^X-Content-Type-Options: nosniff' "$TMP/headers" || fail 'types are guessed'
# No file of the mount is served as a script.
status 201 -X PUT -d 'alert(1)' "${URL}metadata/evil.js"
status 200 -D "$TMP/headers" "${URL}metadata/evil.js"
grep -qi '^Content-Type: text/plain' "$TMP/headers" || fail 'a key may be a script'
status 204 -X DELETE "${URL}metadata/evil.js"
! grep -qi '^Access-Control' "$TMP/headers" || fail 'others may'

unmount_served

# The mount's name ends like the begin of an escape.
odd="$TMP/odd\\"
mkdir "$odd"
mount_model -o noassemble "$scribe" "$odd"
serve "$odd"
status 200 "$URL.grafts"
status 422 -T /etc/passwd "${URL}organs/blk_2_ffn_up.bin"
answer_says '^organs/blk_2_ffn_up.bin: graft refused'
MNT=$odd
unmount_served

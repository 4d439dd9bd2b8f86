#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# plain: its clients are scripts and programs of others
# organ-serve for programs: errors as JSON on request, /health, and no effect of requests that
# another site's page can make a browser send.
. "${0%/*}/../lib.sh"

need python3 openssl
scribe=$(use scribe-Q4_K_M)
mount_model -o noassemble "$scribe"
serve "$MNT"
up=organs/blk_2_ffn_up.bin
json=(-H 'Accept: application/json')

# is_json WORD...: check the answer with Python.
is_json() {
	python3 -c 'import json, sys
answer = json.load(open(sys.argv[1], encoding="utf-8"))
for word in sys.argv[2:]:
    assert eval(word, {"a": answer}), f"not {word}: {answer}"' "$TMP/answer" "$@" 2>"$TMP/.said" ||
		fail "$(tail -n 1 "$TMP/.said")"
}

# error STATUS PATH PATTERN CURL-ARGUMENTS...: check a JSON error.
error() {
	local expected=$1 path=$2 pattern=$3
	shift 3
	status "$expected" "${json[@]}" -D "$TMP/headers" "$@"
	grep -qi '^Content-Type: application/json' "$TMP/headers" || fail "$*: no JSON by its type"
	is_json 'sorted(a) == ["error", "path", "status"]' "a['status'] == $expected" \
		"a['path'] == $path"
	answer_says "$pattern"
}

error 404 "'/organs/nothing.bin'" 'such file' "${URL}organs/nothing.bin"
error 404 "'/nothing\"ä'" 'such file' "${URL}nothing%22%c3%a4?x=http://a/b"
error 404 "'/organs/nothing.bin'" 'such file' -X DELETE "${URL}organs/nothing.bin"
error 404 "'/nothing'" 'such file' -X PROPFIND -H 'Depth: 0' "${URL}nothing"
error 403 "'/organs'" 'directories of classes' -X DELETE "${URL}organs"
error 403 "'/x/'" 'directories of classes' -X MKCOL "${URL}x/"
error 422 "'/$up'" 'graft refused: .*keeps its content' -T /etc/passwd "$URL$up"
error 422 "'/norm/blk_2_ffn_norm.bin'" "$up: graft refused: .*shape" -X COPY \
	-H "Destination: /$up" "${URL}norm/blk_2_ffn_norm.bin"
error 409 "'/nowhere/x\\\\y'" 'no such directory' -T /etc/passwd "${URL}nowhere/x%5cy"
error 403 "'/.assemble'" 'has --output' -X PUT -d x.gguf "$URL.assemble"
error 416 None 'range' -r 999999999- "$URL$up"
error 403 None 'localhost' -H 'Host: example.com' "$URL"
error 403 None 'localhost' -H 'Host: example.com' -X DELETE "$URL$up"

# Answers without an error do not depend on that header.
status 200 "${json[@]}" "${URL}manifest.json"
is_json "'tensors' in a"
status 200 "${json[@]}" "$URL$up"
same "$TMP/answer" "$MNT/$up"
status 204 "${json[@]}" -T "$MNT/organs/blk_1_ffn_up.bin" "$URL$up"
status 200 -H 'Accept: text/html' "$URL"
status 404 -H 'Accept: */*' "${URL}nothing"
equal "$(cat "$TMP/answer")" 'There is no such file in the mount.'

# A load balancer's health check measures nothing.
before=
if command -v getfattr >/dev/null; then
	before=$(getfattr --only-values -n user.organfs.measured "$MNT")
fi
status 200 "${URL}health"
grep -qx $'scribe-Q4_K_M\t1' "$TMP/answer" || fail "$(cat "$TMP/answer")"
grep -Eqx $'free\t[0-9]+' "$TMP/answer" || fail "$(cat "$TMP/answer")"
status 200 "${json[@]}" "${URL}health?x"
is_json "a['status'] == 'ok'" "a['models'] == [{'name': 'scribe-Q4_K_M', 'grafts': 1}]" \
	"a['free'] > 0"
status 200 -I "${URL}health"
status 403 -H 'Host: example.com' "${URL}health"
[ -z "$before" ] || equal "$(getfattr --only-values -n user.organfs.measured "$MNT")" "$before" \
	'tensors measured'

# Another site's page changes nothing, with any headers of its browser.
grafts=$(cat "$MNT/.grafts")
for from in 'Origin: http://example.com' 'Origin: null' 'Origin: http://localhost:1' \
	'Sec-Fetch-Site: cross-site' 'Sec-Fetch-Site: same-site'; do
	status 403 -H "$from" -T "$MNT/organs/blk_0_ffn_up.bin" "$URL$up"
	answer_says 'other sites'
	for method in COPY DELETE MOVE LOCK; do
		status 403 -X $method -H "$from" -H 'Destination: /organs/blk_3_ffn_up.bin' \
			"$URL$up"
		answer_says 'other sites'
	done
done
for method in DELETE COPY MOVE; do
	error 403 None 'other sites' -X $method -H 'Sec-Fetch-Site: cross-site' \
		-H 'Destination: /organs/blk_3_ffn_up.bin' "$URL$up"
done
equal "$(cat "$MNT/.grafts")" "$grafts"
status 204 -H "Origin: ${URL%/}" -H 'Sec-Fetch-Site: same-origin' \
	-T "$MNT/organs/blk_0_ffn_up.bin" "$URL$up"
status 204 -H "Origin: ${URL%/}" -X DELETE "$URL$up"
absent "$MNT/$up"
status 200 -H "Origin: ${URL%/}" -H "Destination: $URL$up" -X COPY "$URL.base/$up"
equal "$(cat "$MNT/.grafts")" '' 'the base has this'
key=metadata/llama.context_length
echo 4096 >"$MNT/$key"
status 412 -H "Origin: ${URL%/}" -H 'Overwrite: F' -H "Destination: $URL$key" -X COPY \
	"$URL.base/$key"
equal "$(cat "$MNT/$key")" 4096
status 204 -H "Origin: ${URL%/}" -H "Destination: $URL$key" -X COPY "$URL.base/$key"
equal "$(cat "$MNT/.grafts")" '' 'this is the value of the base'
error 422 "'/.base/metadata/general.name'" "$key: refused" -X COPY -H "Origin: ${URL%/}" \
	-H "Destination: $URL$key" "$URL.base/metadata/general.name"

# Several models; a missing mount is not healthy; an unknown client learns nothing.
unmount_served
mkdir "$TMP/models"
cp "$scribe" "$TMP/models/scribe.gguf"
cp "$MODELS/clerk-Q4_K_M.gguf" "$TMP/models/clerk.gguf"
printf 'alice:%s\n' "$(openssl passwd -6 secret)" >"$TMP/users"
mount_model -o noassemble "$TMP/models"
serve --password "$TMP/users" "$MNT"
error 401 None 'password' "${URL}health"
error 401 None 'password' "$URL"
error 401 None 'password' -T /etc/passwd "${URL}scribe/$up"
status 200 -u alice:secret "${json[@]}" "${URL}health"
is_json "[m['name'] for m in a['models']] == ['clerk', 'scribe']"
stop "${DAEMON[$MNT]}"
status 503 -u alice:secret "${URL}health"
answer_says 'does not answer'
kill -CONT "${DAEMON[$MNT]}"
unmount_served

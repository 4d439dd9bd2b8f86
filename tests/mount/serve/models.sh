#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# release: every request that the scripts of organ-serve answer
# plain: its clients are scripts and programs of others
# Clients of organ-serve mount models of --models beside the served one, copy from them, unmount
# them, and link adapters; other paths cannot be named.
# timeout: 300
. "${0%/*}/../lib.sh"

need python3 jq openssl
scribe=$(use scribe-Q4_K_M)
pool="$TMP/po ol"
odd='a b"ä#.gguf'
mkdir -p "$pool/deeper" "$TMP/pool2" "$TMP/out"
cp "$MODELS/clerk-Q4_K_M.gguf" "$pool/clerk.gguf"
cp "$MODELS/clerk-Q4_K_M.gguf" "$pool/$odd"
cp "$MODELS/clerk-Q4_K_M.gguf" "$pool/deeper/deep.gguf"
cp "$MODELS/clerk-Q4_K_M.gguf" "$TMP/pool2/outer.gguf"
"$LORA" make "$scribe" "$pool/style.gguf" 'blk.3.ffn_gate.weight'
ln -s "$TMP/pool2/outer.gguf" "$pool/out.gguf"
ln -s clerk.gguf "$pool/in.gguf"
# A directory of organ files, named by its header: links in it lead anywhere.
mount_model -o ro "$scribe" "$TMP/out"
cp -r "$TMP/out/header.gguf" "$TMP/out/norm" "$pool/"
unmount_and_wait "$TMP/out"
ln -s header.gguf "$pool/head.gguf"
ln -s nowhere "$pool/broken.gguf"
mkfifo "$pool/fifo.gguf"
echo junk >"$pool/junk.gguf"
touch "$pool/notes.txt"
mount_model -o noassemble "$scribe" "$TMP/out"
(cd "$pool" && echo 'split-%05d-of-%05d.gguf split=1M' >"$TMP/out/.assemble")
unmount_and_wait "$TMP/out"
cp "$pool"/split-00001-of-*.gguf "$pool/loose-00001-of-00003.gguf"
ln -s "$TMP/pool2/outer.gguf" "$pool/loose-00002-of-00003.gguf"
mount_model -o noassemble "$scribe"
json=(-H 'Accept: application/json')
# Number of mounts made by organ-serve.
mounts() {
	grep -c " $TMPDIR/organ-serve[^ ]* " /proc/self/mountinfo || true
}

# Without the option there are no such models.
serve "$MNT"
status 404 "$URL.models"
status 404 "$URL.models/clerk/model.gguf"
status 403 -d clerk.gguf "$URL.models"
answer_says 'if organ-serve has --models'
status 403 -d style.gguf "${URL}adapters/"
kill "$SERVER"
wait "$SERVER" || true
expect_fail 'is no directory' "$here/../../mount-helpers/organ-serve" --models "$TMP/x" "$MNT"

# Check the lists of available and of mounted models.
serve --models "$pool" --output "$TMP/out" "$MNT"
models() {
	status 200 "${json[@]}" "$URL.models"
	jq -r '.models[] | select(.mounted) | .name' "$TMP/answer" | tr '\n' ' '
}
equal "$(models)" ''
equal "$(jq -r '.models[].name' "$TMP/answer" | tr '\n' ' ')" \
	"${odd%.gguf} clerk in junk loose split style "
status 201 -d clerk.gguf -D "$TMP/headers" "$URL.models"
grep -qi $'^Location: /.models/clerk/\r$' "$TMP/headers" || fail "$(cat "$TMP/headers")"
equal "$(models)" 'clerk '
status 200 "$URL.models"
grep -qx $'clerk.gguf\t/.models/clerk/' "$TMP/answer" || fail "$(cat "$TMP/answer")"
status 201 --data-binary "$odd" "${json[@]}" -D "$TMP/headers" "$URL.models/"
equal "$(jq -r .path "$TMP/answer")" '/.models/a b"ä#/'
grep -qi '^Location: /.models/a%20b%22%C3%A4%23/' "$TMP/headers" || fail "$(cat "$TMP/headers")"
status 201 -d in.gguf "$URL.models"
equal "$(models)" 'a b"ä# clerk in '

# The models' daemons do not count for the limit of concurrent programs.
has_turns() {
	local turn
	for turn in "$TMPDIR"/organ-serve.*/turns/*; do
		flock -n "$turn" true || return 1
	done
}
until_true 60 has_turns || fail 'a daemon has the turn of the program that began it'

# The models can be read, listed and copied from, but not changed.
status 200 "$URL.models/clerk/organs/blk_2_ffn_up.bin"
mv "$TMP/answer" "$TMP/organ"
status 207 -X PROPFIND -H 'Depth: 1' "$URL.models/clerk/organs/"
equal "$(grep -c '<D:href>/.models/clerk/organs/blk_' "$TMP/answer")" 36
status 200 "$URL.models/"
answer_says 'DOCTYPE html'
status 200 "$URL.models/clerk/"
answer_says 'DOCTYPE html'
status 200 -X COPY -H 'Destination: /organs/' "$URL.models/clerk/organs/"
equal "$(grep -c $'\tcopied$' "$TMP/answer")" 18
same "$MNT/organs/blk_2_ffn_up.bin" "$TMP/organ"
equal "$(cut -f 8 "$MNT/.grafts" | sort -u)" "${pool/ /%20}/clerk.gguf" 'where it is from'
status 200 -X COPY -H "Destination: ${URL}organs/blk_3_ffn_up.bin" \
	"$URL.models/a%20b%22%c3%a4%23/organs/blk_2_ffn_up.bin"
same "$MNT/organs/blk_3_ffn_up.bin" "$TMP/organ"
status 422 -X COPY -H 'Destination: /norm/' "$URL.models/clerk/organs/"
answer_says 'graft refused'
status 404 -X COPY -H 'Destination: /organs/' "$URL.models/other/organs/"
status 404 -X COPY -H 'Destination: /organs/' "$URL.models/clerk/"
clerk=$URL.models/clerk/organs/blk_2_ffn_up.bin
status 403 -T "$TMP/organ" "$clerk"
status 403 -X DELETE "$clerk"
status 403 -X MOVE -H 'Destination: /organs/blk_1_ffn_up.bin' "$clerk"
status 409 -X COPY -H 'Destination: /.models/clerk/organs/blk_1_ffn_up.bin' \
	"${URL}organs/blk_2_ffn_up.bin"
status 409 -X COPY -H 'Destination: /.models/clerk/organs/' "${URL}organs/"
status 403 -X PUT -d '' "$URL.models/clerk/.assemble"
equal "$(ls "$TMP/out")" ''
lock='<D:lockinfo xmlns:D="DAV:"><D:lockscope><D:exclusive/></D:lockscope>
	<D:locktype><D:write/></D:locktype></D:lockinfo>'
lock() {
	status 403 -X LOCK -H 'Content-Type: text/xml' -d "$lock" "$1"
}
for path in .models .models/ .models/style .models/clerk/organs/new .models//style; do
	lock "$URL$path"
done
status 403 -X PROPPATCH -H 'Content-Type: text/xml' -d '<D:propertyupdate xmlns:D="DAV:"/>' \
	"$clerk"
status 403 -X MKCOL "$URL.models/style"
absent "$(echo "$TMPDIR"/organ-serve.*/models)/style"

# Unmountable models give the reason. No path outside of the directory can be named.
refused() {
	local expected=$1 name=$2 pattern=$3
	status "$expected" "${json[@]}" --data-binary "$name" "$URL.models"
	jq -e ".status == $expected" "$TMP/answer" >/dev/null || fail "$(cat "$TMP/answer")"
	answer_says "$pattern"
	status "$expected" --data-binary "$name" "${URL}adapters/"
}
refused 400 "../pool2/outer.gguf" 'not the plain name'
refused 400 "$scribe" 'not the plain name'
refused 400 deeper/deep.gguf 'not the plain name'
refused 400 .. 'not the plain name'
refused 400 '' 'not the plain name'
refused 400 $'clerk.gguf\nx' 'not the plain name'
refused 403 out.gguf 'leads out of the directory'
refused 403 header.gguf 'directory of organ files'
refused 403 head.gguf 'directory of organ files'
refused 404 broken.gguf 'no such file'
refused 404 fifo.gguf 'no such file'
refused 404 deeper 'no such file'
refused 404 other.gguf 'no such file'
refused 422 junk.gguf 'junk.gguf: .*not a GGUF file'
status 422 -d notes.txt "$URL.models"
status 422 -d split-00002-of-00003.gguf "$URL.models"
answer_says 'first part'
status 403 -d loose-00001-of-00003.gguf "$URL.models"
answer_says 'a part leads out'
status 201 -d split-00001-of-00003.gguf "$URL.models"
status 200 "$URL.models/split/organs/blk_2_ffn_up.bin"
same "$TMP/answer" "$MNT/.base/organs/blk_2_ffn_up.bin"
status 204 -X DELETE "$URL.models/split"
status 409 -d clerk.gguf "$URL.models"
answer_says 'is mounted'
for from in 'Origin: http://example.com' 'Sec-Fetch-Site: cross-site' 'Host: example.com'; do
	status 403 -H "$from" -d style.gguf "$URL.models"
	status 403 -H "$from" -d style.gguf "${URL}adapters/"
	status 403 -H "$from" -X DELETE "$URL.models/clerk"
done
status 403 -H 'Host: example.com' "$URL.models"
for path in .models/../../.. .models/%2e%2e/%2e%2e/etc/passwd '.models/..%2f..%2fetc/passwd'; do
	code=$(curl -sS --path-as-is -o "$TMP/answer" -w '%{http_code}' "$URL$path")
	! grep -q root: "$TMP/answer" || fail "$path is answered, with $code"
done
equal "$(models)" 'a b"ä# clerk in '

# Adapters are linked, half a pair too, and removed.
equal "$(grep -c ^adapters "$MNT/.grafts" || true)" 0
status 201 -d style.gguf -D "$TMP/headers" "${URL}adapters/"
grep -qi $'^Location: /adapters/style.gguf\r$' "$TMP/headers" || fail "$(cat "$TMP/headers")"
equal "$(readlink "$MNT/adapters/style.gguf")" "$pool/style.gguf"
status 409 -d style.gguf "${URL}adapters"
status 204 -X PUT -d 0.5 "${URL}adapters/style.scale"
equal "$(grep ^adapters "$MNT/.grafts" | cut -f 1-4)" $'adapters/style.gguf\tadapter\t0.5\t1'
status 422 -X PUT -d much "${URL}adapters/style.scale"
answer_says 'adapters/style.scale: refused'
status 422 "${json[@]}" -d clerk.gguf "${URL}adapters/"
answer_says 'no LoRA adapter'
status 405 -d style.gguf "${URL}organs/"
# Other links are refused, and a link's target is not served.
refused_link() {
	status 422 -d "$1" "${URL}adapters/"
	answer_says "$2"
	! [ -e "$MNT/adapters/$1" ] && ! [ -L "$MNT/adapters/$1" ] || fail "$1 is linked"
}
refused_link notes.txt 'ends with .gguf'
refused_link junk.gguf 'not a GGUF file'
for url in adapters/style.gguf adapters/style.gguf/x adapters/%73tyle%2egguf \
	organs/../adapters/style.gguf; do
	for method in GET HEAD COPY MOVE; do
		options=(-X "$method")
		[ $method != HEAD ] || options=(-I)
		status 403 --path-as-is "${options[@]}" -H 'Destination: /metadata/stolen' \
			"$URL$url"
	done
done
status 403 "${json[@]}" "${URL}adapters/style.gguf"
equal "$(jq -r .error "$TMP/answer")" 'An adapter is merged; its own file is not given out.'
absent "$MNT/metadata/stolen"
for to in /organs/.stolen /organs/stolen.bin "${URL}adapters/.stolen"; do
	status 404 -X COPY -H "Destination: $to" "$URL.organ-serve/put/adapters/style.gguf"
done
equal "$(find "$MNT" -name '*stolen*')" ''
status 200 "${URL}adapters/style.scale"
status 200 "${URL}adapters/.theta"
status 204 -X DELETE "${URL}adapters/style.gguf"
equal "$(grep -c ^adapters "$MNT/.grafts" || true)" 0

# Unmount: a model just read can be unmounted, a busy one cannot.
status 200 "$clerk"
status 204 -X DELETE "$URL.models/clerk"
status 404 -X DELETE "$URL.models/clerk"
status 404 "$clerk"
locks=$(ls "$TMPDIR"/organ-serve.*/refused)
status 404 -X DELETE "$URL.models/nothing"
equal "$(ls "$TMPDIR"/organ-serve.*/refused)" "$locks" locks
status 403 -X DELETE "$URL.models"
exec 3<"$(echo "$TMPDIR"/organ-serve.*/models/in)/model.gguf"
status 409 -X DELETE "$URL.models/in/"
answer_says 'in is in use'
exec 3<&-
status 204 -X DELETE "$URL.models/in/"
equal "$(mounts)" 1

# A mount whose daemon has died can be removed, or mounted again.
kill_beside() {
	local point
	point=$(echo "$TMPDIR"/organ-serve.*/models)/$1
	kill -9 "$(daemon_of "$point")"
	until_true 60 is_dead "$point" || late "$point is not dead"
	equal "$(models)" "a b\"ä# $1 "
}
is_dead() {
	! head -c 1 "$1/.log" >/dev/null 2>&1
}
status 201 -d clerk.gguf "$URL.models"
kill_beside clerk
status 204 -X DELETE "$URL.models/clerk"
status 404 -X DELETE "$URL.models/clerk"
status 201 -d clerk.gguf "$URL.models"
kill_beside clerk
status 201 -d clerk.gguf "$URL.models"
status 200 "$clerk"
kill_beside clerk
equal "$(mounts)" 2

# The end of organ-serve unmounts the other models, after a signal or the end of its own mount.
kill "$SERVER"
wait "$SERVER" || true
no_server
equal "$(mounts)" 0
echo all >"$MNT/.undo"
printf 'alice:%s\n' "$(openssl passwd -6 secret)" >"$TMP/users"
serve --models "$pool" --password "$TMP/users" "$MNT"
status 401 -d clerk.gguf "$URL.models"
status 401 "$URL.models"
status 401 -d style.gguf "${URL}adapters/"
status 201 -u alice:secret -d clerk.gguf "$URL.models"
status 401 -X DELETE "$URL.models/clerk"
status 401 "$URL.models/clerk/organs/blk_2_ffn_up.bin"
status 401 -X COPY -H 'Destination: /organs/' "$URL.models/clerk/organs/"
status 403 -u alice:secret -H 'Origin: https://example.com' -X COPY \
	-H 'Destination: /organs/' "$URL.models/clerk/organs/"
equal "$(cat "$MNT/.grafts")" ''
kill -HUP "$SERVER"
wait "$SERVER" || true
equal "$(mounts)" 0

# A read-only server mounts nothing.
serve --models "$pool" --read-only "$MNT"
status 403 -d clerk.gguf "$URL.models"
status 403 -d style.gguf "${URL}adapters/"
status 403 -X DELETE "$URL.models/clerk"
lock "${URL}organs/new"
lock "${URL}organs/blk_2_ffn_up.bin"
absent "$MNT/organs/new"
status 403 -X PROPPATCH -H 'Content-Type: text/xml' -d '<D:propertyupdate xmlns:D="DAV:"/>' \
	"${URL}organs/blk_2_ffn_up.bin"
status 207 -X PROPFIND -H 'Depth: 0' "${URL}organs/"
status 200 "$URL.models"
kill "$SERVER"
wait "$SERVER" || true
serve --models "$pool" "$MNT"
status 201 -d clerk.gguf "$URL.models"
kill "$SERVER"
wait "$SERVER" || true

# A model that takes long to mount delays no other, and a client that hangs up does not wait.
mkdir "$TMP/bin"
cp "$MODELS/clerk-Q4_K_M.gguf" "$pool/slow.gguf"
cat >"$TMP/bin/organfs" <<END
#!/bin/sh
case \$* in
*slow.gguf*) until [ -e '$TMP/go' ]; do sleep 0.1; done ;;
esac
exec '$ORGANFS' "\$@"
END
chmod +x "$TMP/bin/organfs"
cp "$UMOUNT" "$TMP/bin/organfs-umount"
ORGANFS=$TMP/bin/organfs serve --models "$pool" "$MNT"
waiting() {
	pgrep -s "$HTTPD" -x flock >/dev/null
}
not_waiting() {
	! waiting
}
curl -sS -m 60 -o "$TMP/first" -w '%{http_code}' -d slow.gguf "$URL.models" >"$TMP/code" &
first=$!
until_true 60 test -e "$(echo "$TMPDIR"/organ-serve.*/models)/slow" || late 'no mount is begun'
curl -sS -m 60 -o /dev/null -d slow.gguf "$URL.models" 2>/dev/null &
second=$!
until_true 60 waiting || late 'a second client does not wait for the first'
status 201 -d clerk.gguf "$URL.models"
status 204 -X DELETE "$URL.models/clerk"
kill $second
wait $second || true
until_true 60 not_waiting || fail 'a client that has hung up still waits'
touch "$TMP/go"
wait $first
equal "$(cat "$TMP/code")" 201 "$(cat "$TMP/first")"
status 409 -d slow.gguf "$URL.models"
unmount_served
equal "$(mounts)" 0

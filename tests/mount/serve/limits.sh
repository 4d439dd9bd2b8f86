#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# release: every request that the scripts of organ-serve answer
# plain: its clients are scripts and programs of others
# organ-serve: no client takes the whole machine or disk; remains of a killed PUT are removed at
# once, and at the next start; TLS has no old versions or weak ciphers.
. "${0%/*}/../lib.sh"

need openssl
mount_model -o noassemble "$(use stories260K)"
cp "$MNT/organs/blk_2_ffn_up.bin" "$TMP/organ"
before=$(checksum "$MNT/model.gguf")
true &
wait $!
gone=$! # an ended process
echo left >"$MNT/organs/.organ-serve.$gone"
echo kept >"$MNT/organs/.organ-serve.$$"
exists "$MNT/organs/.organ-serve.$gone"
# A COPY has several scratch files, and an organ moved aside may be the only copy.
echo left >"$MNT/organs/.organ-serve.$gone.0"
echo kept >"$MNT/organs/.organ-serve.$gone.0.kept"
echo kept >"$MNT/organs/.organ-serve.$$.$gone"
serve "$MNT"
absent "$MNT/organs/.organ-serve.$gone"
absent "$MNT/organs/.organ-serve.$gone.0"
for file in "$gone.0.kept" "$$" "$$.$gone"; do
	exists "$MNT/organs/.organ-serve.$file"
	rm "$MNT/organs/.organ-serve.$file"
done

# A body longer than any organ is refused before it is read.
status 413 -X PUT -H 'Content-Length: 9999999999999' "${URL}organs/blk_2_ffn_up.bin"
status 413 -X PUT -H 'Content-Length: 999999999' "${URL}.assemble"

# slow NAME: begin a PUT without a body, on a descriptor of this shell.
at=${URL#http://}
at=${at%/}
slow() {
	local fd
	exec {fd}<>"/dev/tcp/${at%:*}/${at##*:}"
	CLIENTS+=("$fd")
	printf 'PUT /organs/%s HTTP/1.1\r\nHost: %s\r\nContent-Length: %s\r\n\r\nsome of it' \
		"$1" "$at" "$(stat -c %s "$TMP/organ")" >&"$fd"
}
CLIENTS=()
scratches() {
	find "$MNT/organs" -name '.organ-serve.*' | wc -l
}
slow blk_2_ffn_up.bin
until_true 60 eval '[ "$(scratches)" = 1 ]' || late 'no scratch file'
writer=$(find "$MNT/organs" -name '.organ-serve.*')
kill -9 "${writer##*.}"
until_true 60 eval '[ "$(scratches)" = 0 ]' || fail 'the scratch file of a killed PUT stays'
equal "$(cat "$MNT/.grafts")" ''

# One request over the limit is refused; then there is room again.
for i in {1..16}; do
	slow "blk_$((i % 5))_ffn_up.bin"
done
until_true 60 eval '[ "$(scratches)" = 16 ]' || fail "$(scratches) are written at once"
status 503 -T "$TMP/organ" "${URL}organs/blk_2_ffn_up.bin"
answer_says 'too much is being done at once'
status 200 "${URL}.grafts"
for fd in "${CLIENTS[@]}"; do
	exec {fd}>&-
done
until_true 60 eval '[ "$(scratches)" = 0 ]' || fail "$(scratches) scratch files stay"
accepted() {
	curl -sSf -T "$TMP/organ" "${URL}organs/blk_2_ffn_up.bin" 2>/dev/null
}
until_true 60 accepted || fail 'there is no room again'
equal "$(checksum "$MNT/model.gguf")" "$before"
kill "$SERVER"
wait "$SERVER" || true

# Wrong passwords are answered one a second: lighttpd waits for the next whole second, which
# sometimes comes at once.
hash=$(printf 'bob:organfs:secret' | md5sum)
printf 'alice:%s\n' "$(openssl passwd -6 secret)" >"$TMP/basic"
printf 'bob:organfs:%s\n' "${hash%% *}" >"$TMP/digest"
for manner in basic digest; do
	serve --password "$TMP/$manner" "$MNT"
	for user in alice bob; do
		[ $manner$user != basicbob ] && [ $manner$user != digestalice ] || continue
		status 200 --$manner -u $user:secret "$URL.grafts"
		before=$(milliseconds)
		status 401 --$manner -u $user:wrong "$URL.grafts"
		status 401 --$manner -u $user:wrong "$URL.grafts"
		[ $(($(milliseconds) - before)) -ge 900 ] ||
			fail "two wrong passwords of $manner are answered within a second"
	done
	kill "$SERVER"
	wait "$SERVER" || true
done

# TLS 1.2 and 1.3.
openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=organfs -keyout "$TMP/key" \
	-out "$TMP/cert" 2>/dev/null
serve --cert "$TMP/cert" --key "$TMP/key" "$MNT"
at=${URL#https://}
speaks() {
	openssl s_client -connect "${at%/}" "-$1" -cipher 'ALL:@SECLEVEL=0' </dev/null 2>&1 |
		grep -q '^ *New, TLSv1.*, Cipher is [A-Z]'
}
for old in tls1 tls1_1; do
	! speaks $old || fail "$old is spoken"
done
for new in tls1_2 tls1_3; do
	speaks $new || fail "$new is not spoken"
done

# Only ciphers with forward secrecy and authenticated encryption are accepted.
accepted=
for cipher in $(openssl ciphers 'ALL:COMPLEMENTOFALL:@SECLEVEL=0' | tr : ' '); do
	[[ $cipher != TLS_* ]] || continue # TLS 1.3 has no weak ones
	! openssl s_client -connect "${at%/}" -tls1_2 -cipher "$cipher:@SECLEVEL=0" </dev/null \
		2>&1 | grep -q "^ *New, .*Cipher is $cipher" || accepted="$accepted $cipher"
done
[ -n "$accepted" ] || fail 'no cipher of TLS 1.2 is accepted'
for cipher in $accepted; do
	[[ $cipher =~ ^(ECDHE|DHE)-(RSA|ECDSA)-(AES(128|256)-GCM-SHA|CHACHA20-POLY1305) ]] ||
		fail "$cipher is accepted"
done
kill "$SERVER"
wait "$SERVER" || true
unmount_and_wait

# A model of 256 GiB works too, whose limit overflows lighttpd's counter.
"$GGUF" synth "$TMP/large.gguf" --tensors 20 --size 256G
mount_model -o noassemble "$TMP/large.gguf"
serve "$MNT"
truncate -s 90M "$TMP/body"
status 422 -T "$TMP/body" "${URL}organs/blk_0_ffn_up.bin"
kill "$SERVER"
wait "$SERVER" || true
unmount_and_wait

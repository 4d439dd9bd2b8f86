#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# An HTTPS server is checked against the system's certificates or those in SSL_CERT_FILE, and
# cannot redirect to plain HTTP. A token is sent only to the Hub.
. "${0%/*}/../lib.sh"

need openssl
mkdir "$TMP/www"
cp "$MODELS/scribe-Q4_K_M.gguf" "$TMP/www/m.gguf"
openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=organfs -keyout "$TMP/key" \
	-out "$TMP/certificate" -addext subjectAltName=IP:127.0.0.1,DNS:localhost 2>/dev/null
cat "$TMP/key" "$TMP/certificate" >"$TMP/both"
CERTIFICATE=$TMP/both serve_ranges
URL=https://${URL#http://}

expect_refusal "$URL/good/m.gguf"
export SSL_CERT_FILE=$TMP/certificate
mount_model -o ro "$URL/moved/m.gguf"
same "$MNT/model.gguf" "$TMP/www/m.gguf"
unmount_and_wait
expect_refusal "$URL/plain/m.gguf"

# A token for the Hub is sent only to its host.
mkdir -p "$TMP/www/me/repo/resolve/main"
cp "$TMP/www/m.gguf" "$TMP/www/me/repo/resolve/main/m.gguf"
export HF_ENDPOINT=$URL/token HOME=$TMP
HF_TOKEN=other expect_refusal hf:me/repo/m.gguf
export HF_TOKEN=hf_secret
mount_model -o ro hf:me/repo/m.gguf
same "$MNT/model.gguf" "$TMP/www/m.gguf"
unmount_and_wait
grep -q ' /bare/me/repo/resolve/main/m.gguf .* 206 ' "$REQUESTS" || fail "$(cat "$REQUESTS")"
end_server

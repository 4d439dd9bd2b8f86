#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# A server of HTTPS is checked with the system's certificates or those in SSL_CERT_FILE, and leads
# to no server without. A token goes to the Hub alone.
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

# A token for the Hub goes to its host alone.
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

#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# A server of HTTPS is checked with the system's certificates or those in SSL_CERT_FILE, and leads
# to no server without.
. "${0%/*}/../lib.sh"

need openssl
mkdir "$TMP/www"
cp "$MODELS/scribe-Q4_K_M.gguf" "$TMP/www/m.gguf"
openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=organfs -keyout "$TMP/key" \
	-out "$TMP/certificate" -addext subjectAltName=IP:127.0.0.1 2>/dev/null
cat "$TMP/key" "$TMP/certificate" >"$TMP/both"
CERTIFICATE=$TMP/both serve_ranges
URL=https://${URL#http://}

expect_refusal "$URL/good/m.gguf"
export SSL_CERT_FILE=$TMP/certificate
mount_model -o ro "$URL/moved/m.gguf"
same "$MNT/model.gguf" "$TMP/www/m.gguf"
unmount_and_wait
expect_refusal "$URL/plain/m.gguf"
end_server

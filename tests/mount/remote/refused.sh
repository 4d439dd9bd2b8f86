#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# An unmountable URL is refused in one sentence, and no password is shown anywhere.
. "${0%/*}/../lib.sh"

with_clock
mkdir -p "$TMP/www"
cp "$MODELS/scribe-Q4_K_M.gguf" "$TMP/www/m.gguf"
head -c 100000 /dev/urandom >"$TMP/www/noise.gguf"
: >"$TMP/www/empty.gguf"
serve_ranges

# refused URL PATTERN: one line names the URL.
refused() {
	local status=0
	"$ORGANFS" "$1" "$MNT" >"$TMP/.said" 2>&1 </dev/null || status=$?
	equal $status 1 "exit status for $1"
	equal "$(wc -l <"$TMP/.said")" 1 "lines for $1: $(cat "$TMP/.said")"
	grep -Eq -- "^organfs: .*$2" "$TMP/.said" || fail "$1: $(cat "$TMP/.said")"
	grep -qF -- "${3:-$1}: " "$TMP/.said" || fail "no URL: $(cat "$TMP/.said")"
	! mountpoint -q "$MNT" || fail "$1 is mounted"
}
refused "$URL/none/m.gguf" 'does not answer requests for parts of a file \(ranges\)'
refused "$URL/nowhere/m.gguf" 'Content-Range'
refused "$URL/packed/m.gguf" 'Content-Encoding'
refused "$URL/shifted/m.gguf" 'sends bytes 65535-'
refused "$URL/endless/m.gguf" 'more bytes than requested'
refused "$URL/growing/m.gguf" 'was changed'
refused "$URL/trailing/m.gguf" 'broke off'
refused "$URL/local/m.gguf" 'file'
refused "$URL/loop/m.gguf" 'redirects'
refused "$URL/good/nothing.gguf" 'answers 404'
refused "$URL/good/empty.gguf" 'answers 416'
refused "$URL/good/noise.gguf" 'at byte 0'
refused "http://127.0.0.1:1/m.gguf" 'connect'
host=${URL#http://}
refused "http://me:sesame@$host/secret/m.gguf?token=sesame" 'answers 401' \
	"http://$host/secret/m.gguf"
! grep -q sesame "$TMP/.said" || fail 'a password is said'
status=0
"$ORGANFS" file://elsewhere/m.gguf "$MNT" 2>"$TMP/.said" || status=$?
equal $status 2 'exit status for a file of another machine'

# Some URLs succeed: redirects, also temporary ones, refusals and breaks in between.
for manner in moved signed busy cut dated nameless; do
	mount_model -o ro "$URL/$manner/m.gguf"
	same "$MNT/model.gguf" "$TMP/www/m.gguf"
	unmount_and_wait
done

# No list and no file has the password.
mount_model "http://me:pass%20word@$host/secret/m.gguf?token=sesame"
same "$MNT/model.gguf" "$TMP/www/m.gguf"
rm "$MNT/organs/blk_0_ffn_up.bin"
equal "$(findmnt -n -o SOURCE "$MNT")" "$URL/secret/m.gguf" 'the source of the mount'
! tr '\0' '\n' <"/proc/${DAEMON[$MNT]}/cmdline" | grep -E 'pass(%20| )word|sesame' ||
	fail 'a password is an argument'
! grep -rqE 'pass(%20| )word|sesame' "$MNT/.log" "$MNT/manifest.json" "$MNT/.grafts" \
	"$XDG_STATE_HOME" "$LOGS" || fail 'a password is kept'
unmount_and_wait
end_server

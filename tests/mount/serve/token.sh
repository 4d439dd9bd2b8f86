#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# release: every request that the scripts of organ-serve answer
# plain: its clients are scripts and programs of others
# timeout: 300
# organ-serve admits clients that know the token, and no other user of this machine; nothing shows
# the token to these.
. "${0%/*}/../lib.sh"

mount_model -o noassemble "$(use stories260K)"
cp "$MNT/organs/blk_2_ffn_up.bin" "$TMP/organ"
up=organs/blk_3_ffn_up.bin
serve_with_token() {
	ALL_USERS='' serve "$@"
	WITH=$URL
	URL=http://${WITH##*@}
	token=${WITH#http://organfs:}
	token=${token%@*}
}
end_server() {
	kill "$SERVER"
	wait "$SERVER" || true
}

# Process data that any user can read, and the output, without the address itself.
shown() {
	cat /proc/[0-9]*/{cmdline,comm,status} 2>/dev/null | tr '\0' '\n'
	cat "$LOGS"/serve.* "$MNT/.log"
}

serve_with_token "$MNT"
[[ $WITH =~ ^http://organfs:[0-9a-f]{32}@127\.0\.0\.1:[0-9]+/$ ]] || fail "the address is $WITH"
first=$token
printf 'user = organfs:%s\n' "$token" >"$TMP/curlrc"

# With the token all requests to names of this machine work; without it none does, and a wrong one
# is answered late.
status 200 -K "$TMP/curlrc" "$URL"
status 200 "$WITH.grafts"
status 204 -K "$TMP/curlrc" -T "$TMP/organ" "$URL$up"
grafts=$(cat "$MNT/.grafts")
[ -n "$grafts" ] || fail 'nothing is grafted'
status 403 -K "$TMP/curlrc" -H 'Host: evil.example' "$URL.grafts"
answer_says 'Only requests to localhost'
for path in '' .grafts health organs/ .organ-serve/page/main.js .models nothing; do
	status 401 "$URL$path"
	answer_says 'token of organ-serve'
done
for method in PROPFIND OPTIONS DELETE LOCK MOVE COPY; do
	status 401 -X $method -H "Destination: ${URL}organs/blk_1_ffn_up.bin" "$URL$up"
done
status 401 -d x "$URL.models"
status 401 -X PUT -H 'Expect: 100-continue' -T "$TMP/organ" "${URL}organs/blk_1_ffn_up.bin"
status 401 -H 'Accept: application/json' "$URL.grafts"
answer_says '^\{"error": ".*", "status": 401, "path": null\}$'
before=$(milliseconds)
for wrong in "organfs:${token%?}" "organfs:${token}0" "root:$token" organfs: "organfs:$token:"; do
	status 401 -u "$wrong" "$URL.grafts"
done
[ $(($(milliseconds) - before)) -ge 4000 ] || fail 'wrong tokens are answered at once'
equal "$(cat "$MNT/.grafts")" "$grafts"

# Other users cannot see the token anywhere, even during a PUT.
directory=$(echo "$TMPDIR"/organ-serve.*)
basic=$(printf 'organfs:%s' "$token" | base64 -w 0)
at=${URL#http://}
at=${at%/}
exec 3<>"/dev/tcp/${at%:*}/${at##*:}"
printf 'PUT /%s HTTP/1.1\r\nHost: %s\r\nAuthorization: Basic %s\r\nContent-Length: 9\r\n\r\nx' \
	"$up" "$at" "$basic" >&3
is_written() {
	shown >"$TMP/seen"
	grep -aqF "$directory/put" "$TMP/seen"
}
until_true 60 is_written || late 'no PUT is seen'
exec 3>&-
! grep -aF -e "$token" -e "$basic" "$TMP/seen" || fail 'the token is seen'
equal "$(stat -c %a "$directory")" 700
equal "$(grep -rlF "$token" "$directory")" "$directory/password"
equal "$(stat -c %a "$directory/password")" 600
end_server

# The next server has another token.
serve_with_token --read-only "$MNT"
[ "$token" != "$first" ] || fail 'the token is the same again'
status 401 -K "$TMP/curlrc" "$URL.grafts"
status 200 "$WITH.grafts"
status 403 -X DELETE "$WITH$up"
end_server

# A kept token is readable by its owner only, reused, and not shown.
umask 022
for round in made kept; do
	serve --token "$TMP/key" "$MNT"
	[[ $URL =~ ^http://127\.0\.0\.1:[0-9]+/$ ]] || fail "the address is $URL"
	equal "$(stat -c %a "$TMP/key")" 600
	status 401 "$URL.grafts"
	status 200 --netrc-file "$TMP/key" "$URL.grafts"
	# localhost may be ::1, preferred by newer curls, where another user's program may listen.
	status 401 --netrc-file "$TMP/key" "http://localhost:${URL##*:}.grafts"
	[ $round = kept ] || cp "$TMP/key" "$TMP/made"
	token=$(awk '{ print $6; exit }' "$TMP/key")
	shown >"$TMP/seen"
	! grep -aF "$token" "$TMP/seen" "$LOGS/served" || fail 'the token is seen'
	end_server
done
same "$TMP/key" "$TMP/made"
equal ${#token} 32
token=$(printf %064d 7)
printf 'machine localhost\n\tlogin organfs\n\tpassword %s\n' "$token" >"$TMP/own"
chmod 600 "$TMP/own"
serve --token "$TMP/own" "$MNT"
status 200 --netrc-file "$TMP/own" "http://localhost:${URL##*:}.grafts"
status 401 -u "organfs:${token%?}" "$URL.grafts"
end_server
refused() {
	local expected=$1 pattern=$2 status=0
	shift 2
	in_time 60 "$here/../../mount-helpers/organ-serve" "$@" "$MNT" >"$TMP/.said" 2>&1 \
		</dev/null ||
		status=$?
	equal $status "$expected" "exit status of organ-serve $*: $(cat "$TMP/.said")"
	grep -Eq -- "$pattern" "$TMP/.said" || fail "organ-serve $* says: $(cat "$TMP/.said")"
}
echo 'machine localhost login organfs password short' >"$TMP/short"
chmod 600 "$TMP/short"
refused 1 'short has no token' --token "$TMP/short"
chmod 640 "$TMP/key"
refused 1 'key is open to other users' --token "$TMP/key"
refused 1 'cannot be made' --token "$TMP/no/key"
refused 1 'cannot be read' --token "$TMP"
mkfifo -m 600 "$TMP/fifo"
refused 1 'fifo cannot be read' --token "$TMP/fifo"
if [ "$(id -u)" = 0 ]; then
	chmod 600 "$TMP/key"
	chown 65534 "$TMP/key"
	refused 1 'belongs to another user' --token "$TMP/key"
fi
echo 'alice:x' >"$TMP/users"
refused 2 'only one' --token "$TMP/key" --password "$TMP/users"
refused 2 'only one' --no-token --password "$TMP/users"
refused 2 'only one' --no-token --token "$TMP/key"
refused 2 'needs --password' --listen 0.0.0.0 --token "$TMP/key"

# A server without a token.
serve --no-token "$MNT"
status 200 "$URL.grafts"
unmount_served

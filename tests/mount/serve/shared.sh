#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# release: every request that the scripts of organ-serve answer
# plain: its clients are scripts and programs of others
# organ-serve for other users: only with a password, over TLS, for reading; and the ways it ends.
. "${0%/*}/../lib.sh"

need_root
need openssl ip ss
mount_held pwrite64 "$(use scribe-Q4_K_M)"
cp "$MNT/organs/blk_2_ffn_up.bin" "$TMP/organ"
dir="$TMP/\"a b\" \\\$x"
mkdir "$dir"

# refused STATUS PATTERN ARGUMENTS...: organ-serve does not start.
refused() {
	local expected=$1 pattern=$2 status=0
	shift 2
	"$here/../../mount-helpers/organ-serve" "$@" >"$TMP/.said" 2>&1 </dev/null || status=$?
	equal $status "$expected" "exit status of organ-serve $*: $(cat "$TMP/.said")"
	grep -Eq -- "$pattern" "$TMP/.said" || fail "organ-serve $* says: $(cat "$TMP/.said")"
}

end_server() {
	local status=0
	kill "-$1" "$SERVER"
	wait "$SERVER" || status=$?
	equal $status "$2" "exit status after SIG$1"
	no_server
}

# A client at another address comes from a network of this test.
network=organfs$$
ip netns add $network 2>/dev/null || skip 'no namespaces of networks here'
trap 'ip netns del $network' EXIT
ip link add "v$$" type veth peer name eth0 netns $network 2>/dev/null || skip 'no veth here'
ip addr add 198.51.100.1/30 dev "v$$"
ip link set "v$$" up
ip -n $network addr add 198.51.100.2/30 dev eth0
ip -n $network link set eth0 up
from_outside() {
	local expected=$1 code
	shift
	code=$(ip netns exec $network curl -sS -m 5 -g -o "$TMP/answer" -w '%{http_code}' "$@" \
		2>"$TMP/.said") || true
	equal "$code" "$expected" "$*: $(cat "$TMP/.said")"
}

# Without a password only this machine can connect.
for address in 198.51.100.1 0.0.0.0 ::; do
	refused 2 'needs --password' --listen "$address" "$MNT"
done
serve "$MNT"
status 200 "$URL.grafts"
port=$(echo "$URL" | grep -o '[0-9]*/$' | tr -d /)
from_outside 000 "http://198.51.100.1:$port/"
refused 1 "^organ-serve: port $port of 127.0.0.1 is in use$" "$MNT" "$port"
end_server TERM 143
refused 1 'nothing of organfs is mounted' "$TMP"
refused 2 'no port' "$MNT" 65536
refused 2 'no IPv4 or IPv6 address' --listen 'x"y' "$MNT"
refused 2 'both' --cert "$TMP/organ" "$MNT"
refused 1 'cannot be read' --password "$TMP/nothing" "$MNT"
refused 1 'no user with a password' --password "$TMP/organ" "$MNT"
refused 2 'unknown option' --port 1 "$MNT"

# A client with the token connects over TLS, with files of any name.
openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=organfs -keyout "$dir/key\\" \
	-out "$dir/cert" -addext subjectAltName=IP:198.51.100.1 2>/dev/null
printf '# users\nalice:%s\n' "$(openssl passwd -6 secret)" >"$dir/users"
serve --listen 198.51.100.1 --password "$dir/users" --cert "$dir/cert" --key "$dir/key\\" "$MNT"
cp "$dir/cert" "$TMP/cert"
from_outside 401 --cacert "$TMP/cert" "$URL"
# (Without "Expect" the connection may be closed before the client reads the answer.)
from_outside 401 --cacert "$TMP/cert" -u alice:wrong -H 'Expect: 100-continue' \
	-T "$TMP/organ" "${URL}organs/blk_3_ffn_up.bin"
from_outside 401 --cacert "$TMP/cert" -X PROPFIND "$URL"
from_outside 000 -u alice:secret "$URL"
from_outside 000 -u alice:secret "http${URL#https}"
equal "$(cat "$MNT/.grafts")" ''
from_outside 200 --cacert "$TMP/cert" -u alice:secret "${URL}organs/blk_2_ffn_up.bin"
same "$TMP/answer" "$TMP/organ"
from_outside 204 --cacert "$TMP/cert" -u alice:secret -T "$TMP/organ" \
	"${URL}organs/blk_3_ffn_up.bin"
same "$MNT/organs/blk_3_ffn_up.bin" "$TMP/organ"
from_outside 403 --cacert "$TMP/cert" -u alice:secret -X PUT -d x.gguf "$URL.assemble"
end_server TERM 143

# Digest works on IPv6 and for every address; a server that can do nothing is refused.
realm='organs of mine, $x'
hash=$(printf 'bob:%s:secret' "$realm" | md5sum)
printf 'bob:%s:%s\n' "$realm" "${hash%% *}" >"$dir/digest"
serve --listen :: --password "$dir/digest" --read-only "$MNT"
port=$(echo "$URL" | grep -o '[0-9]*/$' | tr -d /)
for url in "http://198.51.100.1:$port/" "http://127.0.0.1:$port/" "http://[::1]:$port/"; do
	status 401 "$url"
	status 401 -u bob:secret "$url"
	status 200 --digest -u bob:secret "$url.grafts"
done
up=${url}organs/blk_2_ffn_up.bin
before=$(cat "$MNT/.grafts")
status 403 --digest -u bob:secret -X PUT -d x "$up"
status 403 --digest -u bob:secret -X DELETE "$up"
status 403 --digest -u bob:secret -X MOVE -H "Destination: ${url}organs/x" "$up"
status 403 --digest -u bob:secret -X COPY -H "Destination: ${url}organs/blk_1_ffn_up.bin" "$up"
status 403 --digest -u bob:secret -X PUT "$url.assemble"
equal "$(cat "$MNT/.grafts")" "$before"
end_server HUP 129

# A full disk has a status of its own, and a client that hangs up ends its assembly.
mkdir "$TMP/full" "$TMP/out"
mount -t tmpfs -o size=1M tmpfs "$TMP/full"
serve --output "$TMP/full" "$MNT"
status 507 -X PUT -d x.gguf "$URL.assemble"
answer_says 'No space left on device'
equal "$(ls -A "$TMP/full")" ''
end_server TERM 143
umount "$TMP/full"
serve --output "$TMP/out" "$MNT"
# The request's program ends during its write, and the daemon knows.
is_told() {
	local pid state=
	for pid in $(pgrep -s "$HTTPD" -f /put); do
		read -r _ _ state _ <"/proc/$pid/stat"
		[ "$state" != D ] || break
	done
	[ "$state" = D ] && sleeps "${DAEMON[$MNT]}" && sleeps "${DAEMON[$MNT]}"
}
# The server accepts the connection before any part of the request, and after all of it.
is_taken() {
	ss -Htnp state established "sport = :$port" | grep -q lighttpd
}
port=$(echo "$URL" | grep -o '[0-9]*/$' | tr -d /)
for first in CONT STOP; do
	hold
	kill -$first -- "-$HTTPD"
	exec 3<>"/dev/tcp/127.0.0.1/$port"
	[ $first = STOP ] || until_true 60 is_taken || late 'no connection'
	printf 'PUT /.assemble HTTP/1.1\r\nHost: localhost\r\nContent-Length: 6\r\n\r\nx.gguf' >&3
	kill -CONT -- "-$HTTPD"
	until_true 60 grep -q '^assembling' "$MNT/.assemble" || late 'it does not begin'
	exec 3<&-
	until_true 60 is_told || fail 'the work goes on'
	release
	until_true 60 eval "! grep -q '^assembling' '$MNT/.assemble'" || fail 'the work goes on'
	assembly_says '^(cancelled|interrupted|failed)'
done
equal "$(ls -A "$TMP/out")" ''
end_server TERM 143

# The end of the daemon ends it as well. A killed daemon takes its server along.
serve "$MNT"
kill -9 "$SERVER"
wait "$SERVER" 2>/dev/null || true
until_true 60 no_lighttpd || fail 'lighttpd stays'
rm -r "$TMPDIR"/organ-serve.*
serve "$MNT"
kill_daemon
wait "$SERVER" || fail "organ-serve ends with $?"
no_server

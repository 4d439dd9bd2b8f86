#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# release: every request that the scripts of organ-serve answer
# plain: its clients are scripts and programs of others
# organ-serve at a socket: its user needs no token; other users and the network have no access; an
# existing file is replaced only if it is a socket without a server.
. "${0%/*}/../lib.sh"

need lighttpd curl
[ -e /usr/lib/lighttpd/mod_webdav.so ] || skip 'no mod_webdav of lighttpd'
mount_model -o noassemble "$(use stories260K)"
cp "$MNT/organs/blk_2_ffn_up.bin" "$TMP/organ"
at=http://localhost
up=organs/blk_3_ffn_up.bin
mkdir "$TMP/run"
socket=$TMP/'run/a "b" $c'
command=$here/../../mount-helpers/organ-serve

serve_at() {
	: >"$LOGS/served"
	"$command" "$@" >"$LOGS/served" 2>>"$LOGS/serve" </dev/null &
	SERVER=$!
	until_true 60 is_served || late "not served after 60 s"
	equal "$(cat "$LOGS/served")" "$socket" "$(cat "$LOGS/serve")"
	HTTPD=$(cat "$TMPDIR"/organ-serve.*/pid)
}
end_server() {
	kill "$SERVER"
	wait "$SERVER" || true
	absent "$socket"
	no_server
}
refused() {
	local expected=$1 pattern=$2 status=0
	shift 2
	in_time 60 "$command" "$@" >"$TMP/.said" 2>&1 </dev/null || status=$?
	equal $status "$expected" "exit status of organ-serve $*: $(cat "$TMP/.said")"
	grep -Eq -- "$pattern" "$TMP/.said" || fail "organ-serve $* says: $(cat "$TMP/.said")"
}
# A relative name starts at the working directory.
by() {
	status "$1" --unix-socket "$socket" "${@:2}"
}
cd "$TMP/run"
umask 022
serve_at --socket "${socket##*/}" "$MNT"
cd "$TMP"
[ -S "$socket" ] || fail 'there is no socket'
equal "$(stat -c %a "$socket")" 600
by 200 $at/
by 200 $at/.grafts
by 403 -H 'Host: evil.example' $at/.grafts
by 204 -T "$TMP/organ" $at/$up
same "$MNT/$up" "$TMP/organ"
by 204 -X COPY -H "Destination: $at/$up" $at/.base/$up
equal "$(cat "$MNT/.grafts")" ''
by 409 -T "$TMP/organ" $at/nowhere/x
by 422 -T "$here/lib.sh" $at/$up
# COPY of a class takes longer; meanwhile the server checks that the client is still connected.
by 200 -X COPY -H "Destination: $at/norm" $at/.base/norm
# No port is open, and another user has no access even if the directory is open.
if [ "$(id -u)" = 0 ] && command -v ss setpriv >/dev/null; then
	ss -Hltnp >"$TMP/ports"
	for pid in $HTTPD $(children_of "$HTTPD"); do
		! grep "pid=$pid," "$TMP/ports" || fail 'a port is open'
	done
	chmod 755 "$ORGANFS_TEST_DIR" "$TMP" "$TMP/run"
	! setpriv --reuid 65534 --regid 65534 --clear-groups curl -s -m 10 \
		--unix-socket "$socket" $at/ >"$TMP/answer" || fail 'another user comes in'
fi
refused 1 'still in use' --socket "$socket" "$MNT"
by 200 $at/.grafts
end_server

# A killed server's socket is replaced; a file is not.
python3 -c 'import socket, sys; socket.socket(socket.AF_UNIX).bind(sys.argv[1])' "$socket"
serve_at --read-only --socket="$socket" "$MNT"
by 200 $at/.grafts
by 403 -T "$TMP/organ" $at/$up
end_server
# After a SIGKILL both processes are gone, and the socket stays.
serve_at --socket "$socket" "$MNT"
kill -9 "$SERVER" $HTTPD $(children_of "$HTTPD")
wait "$SERVER" 2>/dev/null || true
until_true 60 no_lighttpd || fail 'lighttpd is still there'
rm -r "$TMPDIR"/organ-serve.*
[ -S "$socket" ] || fail 'no socket was left'
serve_at --socket "$socket" "$MNT"
by 200 $at/.grafts
# Another server's socket, made meanwhile, is not removed at the end.
rm "$socket"
python3 -c 'import socket, sys; socket.socket(socket.AF_UNIX).bind(sys.argv[1])' "$socket"
kill "$SERVER"
wait "$SERVER" || true
[ -S "$socket" ] || fail 'the socket of another server is gone'
no_server
rm "$socket"
# A link may be another user's, and other users may write to a directory.
ln -s "$TMP/elsewhere" "$TMP/link"
refused 1 'link is a symbolic link' --socket "$TMP/link" "$MNT"
[ -L "$TMP/link" ] || fail 'the link is gone'
absent "$TMP/elsewhere"
mkdir -p "$TMP/open/own"
chmod 777 "$TMP/open"
refused 1 'open: other users may write there' --socket "$TMP/open/x" "$MNT"
refused 1 'open: other users may write there' --socket "$TMP/open/own/x" "$MNT"
chmod 1777 "$TMP/open"
socket=$TMP/open/x
serve_at --socket "$socket" "$MNT"
end_server
socket=$TMP/'run/a "b" $c'
echo kept >"$TMP/file"
refused 1 'file is no socket, and is not replaced' --socket "$TMP/file" "$MNT"
equal "$(cat "$TMP/file")" kept
ln -s loop "$TMP/loop"
refused 1 'loop' --socket "$TMP/loop" "$MNT"
refused 1 'cannot be made' --socket "$TMP/no/socket" "$MNT"
refused 1 'at most 107 bytes' --socket "$TMP/$(printf %0108d 1)" "$MNT"
refused 1 'under such a name' --socket "$TMP/x\\" "$MNT"
refused 2 'no ADDRESS' --socket "$socket" "$MNT" 8765
refused 2 'no ADDRESS' --socket "$socket" --listen ::1 "$MNT"
refused 2 'needs a value' --socket= "$MNT"

# A given token is required, and ends with the mount.
serve_at --socket "$socket" --token "$TMP/key" "$MNT"
by 401 $at/.grafts
token=$(awk '{ print $6; exit }' "$TMP/key")
by 200 -u "organfs:$token" $at/.grafts
unmount_served
absent "$socket"

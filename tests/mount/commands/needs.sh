#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# release: every path of a script
# plain: commands are scripts
# Each helper runs only coreutils, organfs and the tools of its table: it works with these alone,
# and if one is missing it names the package to install in one sentence.
# timeout: 240
. "${0%/*}/../lib.sh"

need dpkg
helpers=$(readlink -f "$here/../../mount-helpers")
base=$(use stories260K)
coreutils=$TMP/coreutils
mkdir "$coreutils" "$TMP/ours" "$TMP/home"
dpkg -L coreutils | grep '/s\?bin/' | xargs ln -s -t "$coreutils"
ln -s "$(command -v bash)" "$(command -v sh)" "$coreutils"
ln -s "$(readlink -f "$ORGANFS")" "$coreutils/organfs"
ln -s "$UMOUNT" "$coreutils/organfs-umount"
export HOME=$TMP/home
unset DISPLAY WAYLAND_DISPLAY

# Tools of a helper, and of organfs-umount if it runs that; of alternatives the first.
tools_of() {
	"$helpers/needs" --tools | awk -F '\t' -v helper="$1" '
		$1 == helper && $2 !~ /^mod_/ { sub(/[|].*/, "", $2); print $2 }'
}
package_of() {
	"$helpers/needs" --tools | awk -F '\t' -v helper="$1" -v tool="$2" '
		$1 == helper && (index("|" $2 "|", "|" tool "|")) { print $3 }'
}
# with_tools TOOL...: restrict $PATH to coreutils and these.
with_tools() {
	local tool path
	rm -rf "$TMP/path"
	cp -a "$coreutils" "$TMP/path"
	for tool; do
		path=$(PATH=$OUTSIDE:/usr/sbin:/sbin command -v "$tool") || continue
		ln -sf "$path" "$TMP/path/$tool"
	done
}
OUTSIDE=$PATH
serves_or_ends() {
	[ -s "$TMP/url" ] || is_gone "$1"
}

inside() {
	PATH=$TMP/path "$TMP/path/timeout" 60 "$TMP/path/env" -u ORGANFS "$@"
}
# says_need STATUS HELPER TOOL COMMAND...: the only output is one line.
says_need() {
	local expected=$1 words status=0
	words="needs $3 (package $(package_of "$2" "$3"))"
	shift 3
	inside "$@" >"$TMP/said" 2>&1 </dev/null || status=$?
	equal $status "$expected" "exit status of $*, which says: $(cat "$TMP/said")"
	grep -Fq "$words" "$TMP/said" || fail "$words is not said by $*: $(cat "$TMP/said")"
	equal "$(wc -l <"$TMP/said")" 1 "lines of $(cat "$TMP/said")"
}
# each STATUS HELPER COMMAND...: it works with all its tools, and not without any one of them.
each() {
	local expected=$1 helper=$2 tool tools
	shift 2
	mapfile -t tools < <(tools_of "$helper")
	[ ${#tools[@]} -ge 1 ] || fail "$helper has no table"
	with_tools "${tools[@]}"
	inside "$@" >"$TMP/said" 2>&1 || fail "$* with all its tools: $(cat "$TMP/said")"
	! grep -q 'not found' "$TMP/said" || fail "$*: $(cat "$TMP/said")"
	for tool in "${tools[@]}"; do
		[[ " $OPTIONAL " != *" $tool "* ]] || continue
		with_tools "${tools[@]}"
		rm -f "$TMP/path/$tool"
		says_need "$expected" "$helper" "$tool" "$@"
	done
	with_tools "${tools[@]}"
}

OPTIONAL=''
rm -rf "$TMP/out"
each 1 organ-dissect "$helpers/organ-dissect" --verify "$base" "$TMP/out"
with_tools $(tools_of organ-dissect) $(tools_of organ-stream) $(tools_of organfs-thumbnailer)
rm "$TMP/path/organfs"
for command in "organ-dissect $base $TMP/other" "organ-stream $TMP/none $TMP/table.tsv" \
	"organfs-thumbnailer $base $TMP/out.png 64"; do
	# shellcheck disable=SC2086
	expect_fail 'needs .*organfs: there is no organfs$' inside "$helpers/"$command
done
printf 'file://%s\n' "$base" >"$TMP/list"
each 1 organ-stream "$helpers/organ-stream" "$TMP/list" "$TMP/table.tsv"
# A path needs no curl, unlike a URL.
rm "$TMP/path/curl"
printf '%s\n' "$base" >"$TMP/list"
inside "$helpers/organ-stream" "$TMP/list" "$TMP/files.tsv" >"$TMP/said" 2>&1 ||
	fail "a file without curl: $(cat "$TMP/said")"

if command -v rsvg-convert >/dev/null; then
	each 1 organfs-thumbnailer "$helpers/organfs-thumbnailer" "$base" "$TMP/out.png" 64
fi

# Without a program to open it the mount is made all the same.
OPTIONAL='xdg-open notify-send'
each 1 organfs-open "$helpers/organfs-open" "$base"
rm -f "$TMP/path/xdg-open" "$TMP/path/notify-send"
says() {
	inside "$@" >"$TMP/said" 2>"$TMP/err" || true
	equal "$(wc -l <"$TMP/err")" 1 "lines of $(cat "$TMP/err")"
	cat "$TMP/err"
}
equal "$(says DISPLAY=:none "$helpers/organfs-open" "$base")" \
	"organfs-open: $HOME/organfs-mounts/stories260K: needs xdg-open (package xdg-utils)"
with_tools $(tools_of organfs-open) $(tools_of organfs-umount)
inside "$helpers/organfs-open" -u >/dev/null || fail 'it stays mounted'

# organfs-umount runs a single tool: umount(8) for root, fusermount3 for others.
umounts() {
	local status=0
	inside organfs -o ro "$base" "$MNT"
	DAEMON[$MNT]=$(daemon_of "$MNT")
	inside "$@" organfs-umount "$MNT" >"$TMP/said" 2>&1 || status=$?
	! mountpoint -q "$MNT" || fusermount3 -u "$MNT"
	wait_daemon
	return $status
}
own=fusermount3 others=()
if [ "$(id -u)" = 0 ]; then
	own=umount
	! command -v setpriv >/dev/null ||
		others=("$(command -v setpriv)" --reuid 65534 --regid 65534 --clear-groups)
	chmod 755 "$ORGANFS_TEST_DIR" "$TMP"
fi
# says_it_lacks STATUS TOOL COMMAND...: check the message.
says_it_lacks() {
	local expected=$1 status=0
	shift
	umounts "${@:2}" || status=$?
	equal "$status$(cat "$TMP/said")" \
		"${expected}organfs-umount: needs $1 (package $(package_of organfs-umount "$1"))"
}
equal "$(tools_of organfs-umount | tr '\n' ' ')" 'fusermount3 umount '
with_tools $own
umounts || fail "with $own: $(cat "$TMP/said")"
[ ! -s "$TMP/said" ] || fail "with $own: $(cat "$TMP/said")"
rm "$TMP/path/$own"
# Root unmounts by itself, and umount(8) only cleans up.
says_it_lacks "$([ $own = umount ] && echo 0 || echo 32)" $own
if [ ${#others[@]} != 0 ]; then
	# The mount is another user's, in a directory open to others.
	cp "$ORGANFS" "$UMOUNT" "$TMP/"
	ln -sf "$TMP/organfs-umount" "$TMP/path/organfs-umount"
	chown 65534 "$MNT"
	"${others[@]}" "$TMP/organfs" -o ro "$base" "$MNT"
	DAEMON[$MNT]=$(daemon_of "$MNT" "${others[@]}")
	status=0
	inside "${others[@]}" organfs-umount "$MNT" >"$TMP/said" 2>&1 || status=$?
	package=$(package_of organfs-umount fusermount3)
	equal "$status$(cat "$TMP/said")" \
		"32organfs-umount: needs fusermount3 (package $package)"
	fusermount3 -u "$MNT"
	wait_daemon
	chown 0 "$MNT"
fi

# organ-serve needs a server with all its modules.
modules=/usr/lib/lighttpd
if PATH=$PATH:/usr/sbin command -v lighttpd >/dev/null && [ -e $modules/mod_webdav.so ]; then
	mount_model "$base"
	for tool in $(tools_of organ-serve); do
		with_tools $(tools_of organ-serve)
		rm "$TMP/path/$tool"
		[ $tool != lighttpd ] || [ ! -e /usr/sbin/lighttpd ] || continue
		says_need 1 organ-serve $tool "$helpers/organ-serve" "$MNT" 0
	done
	with_tools $(tools_of organ-serve)
	says_need 1 organ-serve lighttpd LIGHTTPD=lighttpd-not-there \
		"$helpers/organ-serve" "$MNT" 0
	mkdir "$TMP/modules"
	ln -s $modules/*.so "$TMP/modules/"
	printf '#!/bin/sh\nPATH=$PATH:/usr/sbin\nexec lighttpd -m "%s" "$@"\n' "$TMP/modules" \
		>"$TMP/path/lighttpd-few"
	chmod +x "$TMP/path/lighttpd-few"
	rm "$TMP/modules/mod_webdav.so"
	says_need 1 organ-serve mod_webdav LIGHTTPD=lighttpd-few \
		"$helpers/organ-serve" "$MNT" 0
	ln -s $modules/mod_webdav.so "$TMP/modules/"
	rm -f "$TMP/modules/mod_openssl.so"
	: >"$TMP/pem"
	says_need 1 organ-serve mod_openssl LIGHTTPD=lighttpd-few \
		"$helpers/organ-serve" --cert "$TMP/pem" --key "$TMP/pem" "$MNT" 0
	# organ-serve serves and accepts a PUT with the tools of its table alone.
	# organ-serve chooses the port, which an outgoing connection may take before it listens.
	for try in 1 2 3 4 5; do
		inside "$helpers/organ-serve" "$MNT" 0 >"$TMP/url" 2>"$TMP/err" &
		server=$!
		until_true 60 serves_or_ends $server
		[ ! -s "$TMP/url" ] || break
		wait $server || true
	done
	[ -s "$TMP/url" ] || fail "attempt $try: $(cat "$TMP/err")"
	if command -v curl >/dev/null; then
		cp "$MNT/organs/blk_0_ffn_up.bin" "$TMP/organ.bin"
		equal "$(curl -s -o /dev/null -w '%{http_code}' -T "$TMP/organ.bin" \
			"$(cat "$TMP/url")organs/blk_1_ffn_up.bin")" 204 "$(cat "$TMP/err")"
	fi
	unmount_and_wait
	wait $server || fail "$(cat "$TMP/err")"
fi

# make install names missing tools.
with_tools sed awk grep find
inside "$helpers/needs" >"$TMP/said" 2>"$TMP/err" || fail "$(cat "$TMP/err")"
[ ! -s "$TMP/err" ] || fail "$(cat "$TMP/err")"
for line in 'organ-stream: .*without curl nothing can be fetched from a URL' \
	'organfs-open: .*; without xdg-utils nothing is opened' \
	'organfs-thumbnailer: without librsvg2-bin it does not run' \
	'organfs-umount: without fuse3 users other than root cannot unmount'; do
	equal "$(grep -c "^$line" "$TMP/said")" 1 "$line in $(cat "$TMP/said")"
done

# README.md has the same table, if any.
if grep -q '^| helper | package |' "$here/../../README.md"; then
	"$helpers/needs" --table | cut -d '|' -f 2,3 | sort >"$TMP/expected"
	awk '/^\| helper \| package \|/ { on = 1 } !/^\|/ { on = 0 } on' "$here/../../README.md" |
		tr -d '`' | cut -d '|' -f 2,3 | sort | diff "$TMP/expected" - || fail 'README.md'
fi

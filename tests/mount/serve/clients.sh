#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# plain: its clients are scripts and programs of others
# release: needs Chromium
# timeout: 300
# Other programs' clients can connect with the token of organ-serve, and only with it: rclone,
# cadaver, davfs2, GNOME's gio, and a browser with the address.
. "${0%/*}/../lib.sh"

mount_model -o noassemble "$(use scribe-Q4_K_M)"
ALL_USERS='' serve "$MNT"
with=$URL
URL=http://${with##*@}
token=${with#http://organfs:}
token=${token%@*}
organ=organs/blk_2_ffn_up.bin
tried=
export HOME=$TMP/home
mkdir "$HOME"
(umask 077 && printf 'machine 127.0.0.1 login organfs password %s\n' "$token" >"$HOME/.netrc")

if command -v rclone >/dev/null; then
	tried="$tried rclone"
	pass=$(rclone obscure - <<<"$token" 2>/dev/null)
	remote=(--config "$TMP/rclone.conf" --webdav-url "$URL" --webdav-vendor other)
	: >"$TMP/rclone.conf"
	RCLONE_WEBDAV_USER=organfs RCLONE_WEBDAV_PASS=$pass \
		rclone copyto "${remote[@]}" ":webdav:$organ" "$TMP/rclone" 2>"$TMP/said" ||
		fail "$(cat "$TMP/said")"
	same "$TMP/rclone" "$MNT/$organ"
	expect_fail 401 rclone --retries 1 --low-level-retries 1 lsf "${remote[@]}" :webdav:organs
fi

if command -v cadaver >/dev/null; then
	tried="$tried cadaver"
	echo "get $organ $TMP/cadaver" | cadaver "$URL" >"$TMP/said" 2>&1 ||
		fail "$(cat "$TMP/said")"
	same "$TMP/cadaver" "$MNT/$organ"
fi

if [ "$(id -u)" = 0 ] && command -v mount.davfs >/dev/null; then
	tried="$tried davfs2"
	mkdir "$TMP/dav" "$TMP/cache"
	chmod 755 "$ORGANFS_TEST_DIR" "$TMP" # davfs2 gives up its rights
	chmod 1777 "$TMP/cache"
	(umask 077 && printf '%s organfs %s\n' "$TMP/dav" "$token" >"$TMP/secrets")
	printf '%s\n' "secrets $TMP/secrets" "cache_dir $TMP/cache" 'use_locks 0' \
		>"$TMP/davfs.conf"
	if mount.davfs -o "conf=$TMP/davfs.conf" "$URL" "$TMP/dav" >"$TMP/said" 2>&1 </dev/null
	then
		same "$TMP/dav/$organ" "$MNT/$organ"
		umount "$TMP/dav" >"$TMP/said" 2>&1 || fail "$(cat "$TMP/said")"
	elif ! grep -q 401 "$TMP/said"; then
		tried=${tried% davfs2} # davfs2 cannot mount here at all
	else
		fail "$(cat "$TMP/said")"
	fi
fi

if command -v gio dbus-run-session >/dev/null && [ -e /usr/libexec/gvfsd-dav ]; then
	tried="$tried gio"
	printf '%s\n' 'gio mount "$1" <"$2" && gio cat "$1$3" >"$4"' >"$TMP/gio.sh"
	printf 'organfs\n%s\n' "$token" >"$TMP/answers"
	XDG_RUNTIME_DIR=$TMP/home timeout 60 dbus-run-session sh "$TMP/gio.sh" \
		"dav://${URL#http://}" "$TMP/answers" "$organ" "$TMP/gio" >"$TMP/said" 2>&1 ||
		fail "$(cat "$TMP/said")"
	same "$TMP/gio" "$MNT/$organ"
fi

# The browser removes the token from the address, which the page's scripts could not use.
if command -v chromium >/dev/null; then
	tried="$tried chromium"
	in_time 200 "$here/../tools/browse.py" "$with" \
		'wait: !document.baseURI.includes("@") && document.body?.dataset.state' \
		'document.title' 'location.href' \
		'fetch("/.grafts").then((answer) => answer.status)' >"$TMP/seen" 2>"$TMP/said" ||
		fail "$(cat "$TMP/seen" "$TMP/said")"
	equal "$(cat "$TMP/seen")" $'"scribe-Q4_K_M"\n"'"$URL"$'"\n200'
fi
echo "tried:$tried"
[ -n "$tried" ] || skip 'no client'
unmount_served

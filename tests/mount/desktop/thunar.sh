#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# plain: tests programs of others
# release: needs a desktop
# A mount in a window of Thunar, opened by organfs-open, with a thumbnailer for every file. Nothing
# is measured, hashed or complained about. Paste and drop make grafts.
. "${0%/*}/../lib.sh"

need xdotool Xvfb dbus-run-session thunar gio update-mime-database rsvg-convert getfattr
compgen -G '/usr/share/dbus-1/services/org.xfce.Tumbler.*' >/dev/null || skip 'no tumbler'
helpers=$(readlink -f "$here/../../mount-helpers")

# This part runs in a session of its own.
window_shows() {
	python3 - "$TMP/screen/Xvfb_screen0" <<-'END'
		import struct, sys
		data = open(sys.argv[1], "rb").read()
		header = struct.unpack(">25I", data[:100])
		pixels = data[header[0] + 12 * header[19]:]
		# The first window is in the upper left quarter.
		width, line = header[4] * 2, header[12]
		lines = [pixels[y * line:y * line + width] for y in range(0, header[5] // 2, 3)]
		colours = {l[i:i + 4] for l in lines for i in range(0, len(l), 12)}
		sys.exit(len(colours) < 40)
	END
}
has_thumbnail() {
	grep -rlqF "$1" "$TMP/cache/thumbnails" 2>/dev/null
}
count() {
	getfattr --absolute-names --only-values -n "user.organfs.$1" "$mnt"
}
untouched() {
	equal "$(count measured)" 0 "measured by $1"
	equal "$(count hashed)" 0 "hashed by $1"
	equal "$(cat "$mnt/.log")" '' ".log after $1"
}
# Find the window of that name. Without a window manager the last one is on top.
window() {
	xdotool search --onlyvisible --name "$1" 2>/dev/null | tail -n 1
}
has_window() {
	[ -n "$(window "$1")" ]
}
comes_up() {
	until_true 60 has_window "$1" || late "no window \"$1\""
}
# Thunar asks before it replaces a file.
replaces() {
	comes_up 'Confirm to replace'
	xdotool windowfocus --sync "$(window 'Confirm to replace')" key alt+r
	until_true 60 grep -q "^$1	copy	" "$mnt/.grafts" || fail "no graft of $1"
	same "$mnt/$1" "$2"
	until_true 60 eval '! has_window "Confirm to replace" && ! has_window Progress' ||
		late 'the copy does not end'
}
# Paste once by keyboard, and drag once by mouse from window to window.
grafts() {
	local from=$TMP/models/paste to=$TMP/models/drop
	thunar "$from" "$mnt/organs" &
	comes_up 'paste - Thunar' && comes_up 'organs - Thunar'
	xdotool windowfocus --sync "$(window 'paste - Thunar')" key --delay 50 ctrl+a ctrl+c
	xdotool windowfocus --sync "$(window 'organs - Thunar')" key ctrl+v
	replaces organs/blk_1_ffn_up.bin "$from/blk_1_ffn_up.bin"
	thunar "$to" "$mnt/embed" &
	comes_up 'drop - Thunar' && comes_up 'embed - Thunar'
	xdotool windowsize --sync "$(window 'drop - Thunar')" 440 600 \
		windowsize --sync "$(window 'embed - Thunar')" 440 600 \
		windowmove --sync "$(window 'drop - Thunar')" 0 0 \
		windowmove --sync "$(window 'embed - Thunar')" 450 0
	# Without the side pane the only file is at the top left.
	xdotool windowfocus --sync "$(window 'drop - Thunar')" key ctrl+b
	until_true 20 drops || late 'nothing is dropped'
	replaces embed/output_norm.bin "$to/output_norm.bin"
	thunar --quit
	wait
}
drops() {
	xdotool mousemove 75 130 mousedown 1 sleep 0.2 mousemove 200 300 sleep 0.2 \
		mousemove 700 400 sleep 0.2 mousemove 780 500 sleep 0.2 mouseup 1
	timeout 5 xdotool search --sync --onlyvisible --name 'Confirm to replace' >"$TMP/found" 2>&1
}
session() {
	local i
	# A model and a picture in a directory of the user's get thumbnails.
	thunar "$TMP/models" &
	for i in plain.svg scribe.gguf; do
		until_true 60 has_thumbnail "/models/$i" || late "no thumbnail of $i"
	done
	thunar --quit
	wait
	organfs-open "$base" &
	until_true 60 mountpoint -q "$mnt" || late 'organfs-open does not mount'
	daemon_of "$mnt" >"$TMP/daemon"
	until_true 60 window_shows || late 'no window'
	thunar "$mnt/organs" "$mnt/metadata" "$mnt/norm" &
	# No signal tells that a thumbnailer has found nothing to do.
	sleep 4
	[ -z "${ORGANFS_KEEP_LOGS-}" ] || cp "$TMP/screen/Xvfb_screen0" "$LOGS/screen.xwd"
	untouched Thunar
	! has_thumbnail "$mnt/" || fail 'there is a thumbnail of something in the mount'
	grafts
	# Desktops list the mount among the drives, where the user can unmount it.
	gio mount -l | grep -qF "scribe -> file://$mnt" || fail "shown: $(gio mount -l)"
	gio mount -u "$mnt" || fail 'it cannot be unmounted as a desktop does it'
	exit 0
}
mnt=$TMP/organfs-mounts/scribe
base=$TMP/models/scribe.gguf
if [ "${1-}" = session ]; then
	session
fi

export HOME=$TMP XDG_DATA_HOME=$TMP/data XDG_CONFIG_HOME=$TMP/config XDG_CACHE_HOME=$TMP/cache
export XDG_RUNTIME_DIR=$TMP/run GTK_A11Y=none NO_AT_BRIDGE=1
export ORGANFS_OPENER=thunar PATH=$TMP/bin:$PATH
unset WAYLAND_DISPLAY XDG_CURRENT_DESKTOP
mkdir -p "$TMP/bin" "$TMP/models" "$TMP/screen" "$TMP/data/mime/packages" \
	"$TMP/data/thumbnailers" "$TMP/config" "$TMP/cache"
mkdir -m 700 "$TMP/run"
cp "$MODELS/scribe-Q4_K_M.gguf" "$base"
mkdir "$TMP/models/paste" "$TMP/models/drop"
"$GGUF" organ "$MODELS/clerk-Q4_K_M.gguf" blk.1.ffn_up.weight "$TMP/models/paste/blk_1_ffn_up.bin"
"$GGUF" organ "$MODELS/clerk-Q4_K_M.gguf" output_norm.weight "$TMP/models/drop/output_norm.bin"
cp "$helpers/theta-chimera.svg" "$TMP/models/plain.svg"
cp "$helpers/organfs-mime.xml" "$TMP/data/mime/packages/organfs.xml"
update-mime-database "$TMP/data/mime"
cp "$helpers/organfs.thumbnailer" "$TMP/data/thumbnailers"
cp "$helpers/organfs-thumbnailer" "$helpers/organfs-open" "$TMP/bin"

exec 5>"$TMP/display"
Xvfb -displayfd 5 -screen 0 900x600x24 -fbdir "$TMP/screen" -nolisten tcp >"$LOGS/xvfb" 2>&1 &
xvfb=$!
exec 5>&-
until_true 60 test -s "$TMP/display" || late "no X server: $(tail -n 1 "$LOGS/xvfb")"
DISPLAY=:$(cat "$TMP/display")
export DISPLAY
status=0
in_time 90 dbus-run-session -- "$0" session >"$LOGS/session" 2>&1 || status=$?
kill $xvfb
wait $xvfb || true
[ $status != 75 ] || late "$(grep LATE "$LOGS/session")"
[ $status = 0 ] || fail "$(grep FAIL "$LOGS/session" || tail -n 5 "$LOGS/session")"
until_true 60 is_gone "$(cat "$TMP/daemon")" || fail 'the daemon stays'
absent "$mnt"

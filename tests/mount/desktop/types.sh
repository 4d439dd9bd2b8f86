#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# plain: tests programs of others
# release: needs a desktop
# Desktops know GGUF models: the type by name and content, the program that opens them, the
# picture. The thumbnailer leaves nothing behind after any error.
. "${0%/*}/../lib.sh"

need desktop-file-validate update-mime-database xdg-mime gio rsvg-convert findmnt setpriv
helpers=$(readlink -f "$here/../../mount-helpers")
# The test has a desktop of its own.
export HOME=$TMP XDG_DATA_HOME=$TMP/data XDG_CONFIG_HOME=$TMP/config PATH=$TMP/bin:$PATH
unset DISPLAY WAYLAND_DISPLAY DESKTOP_SESSION
# Without a desktop xdg-mime asks file(1), which has its own database.
export XDG_CURRENT_DESKTOP=GNOME
mkdir -p "$TMP/bin" "$TMP/data/mime/packages" "$TMP/data/applications"
cp "$helpers/organfs-mime.xml" "$TMP/data/mime/packages/organfs.xml"
update-mime-database "$TMP/data/mime"
printf '#!/bin/sh\nprintf "%%s\\n" "$@" >"%s.new" && mv "%s.new" "%s"\n' \
	"$TMP/opened" "$TMP/opened" "$TMP/opened" >"$TMP/bin/organfs-open"
chmod +x "$TMP/bin/organfs-open"
cp "$helpers/organfs.desktop" "$TMP/data/applications"
desktop-file-validate "$helpers/organfs.desktop" || fail 'organfs.desktop'
update-desktop-database "$TMP/data/applications"

type_of() {
	xdg-mime query filetype "$1"
}
content_type() {
	gio info -a standard::content-type "$1" | sed -n 's/.*standard::content-type: //p'
}
cp "$MODELS/scribe-Q4_K_M.gguf" "$TMP/a b.gguf"
cp "$MODELS/stories260K-split-00002-of-00003.gguf" "$TMP"
cp "$MODELS/types.gguf" "$TMP/blob"
cp "$MODELS/types.gguf" "$TMP/TYPES.GGUF"
echo 'no model' >"$TMP/other.txt"
for file in "a b.gguf" stories260K-split-00002-of-00003.gguf blob TYPES.GGUF; do
	equal "$(type_of "$TMP/$file")" application/x-gguf "$file, xdg-mime"
	equal "$(content_type "$TMP/$file")" application/x-gguf "$file, gio"
done
equal "$(type_of "$TMP/other.txt")" text/plain
for file in theta.svg manifest.json .report.json x.theta; do
	echo x >"$TMP/$file"
done
equal "$(type_of "$TMP/theta.svg")" application/x-organfs-picture
equal "$(type_of "$TMP/manifest.json")" application/json
equal "$(content_type "$TMP/.report.json")" application/json
equal "$(type_of "$TMP/x.theta")" application/x-organfs-theta

# A double-click opens the program.
for type in application/x-gguf application/x-organfs-picture; do
	gio mime $type | grep -q 'organfs\.desktop' || fail "$(gio mime $type)"
done
in_time 20 gio open "$TMP/a b.gguf" || fail 'gio open'
until_true 60 test -e "$TMP/opened" || fail 'organfs-open is not called'
equal "$(cat "$TMP/opened")" "$TMP/a b.gguf"

# Make a thumbnail where nothing can be mounted, as in a sandbox.
thumbnail() {
	(cd "$TMP" && "$helpers/organfs-thumbnailer" "$@")
}
size_of() {
	python3 -c 'import struct, sys
png = open(sys.argv[1], "rb").read()
assert png[:8] == b"\x89PNG\r\n\x1a\n" and png[-8:-4] == b"IEND", "no PNG"
print(*struct.unpack(">II", png[16:24]))' "$1"
}
if [ "$(id -u)" = 0 ] && unshare -m true 2>/dev/null; then
	unshare -m sh -c 'mount --bind /dev/null /dev/fuse && exec "$@"' sh \
		"$helpers/organfs-thumbnailer" "$TMP/a b.gguf" "$TMP/256.png" 256 ||
		fail 'no thumbnail without /dev/fuse'
else
	thumbnail 'a b.gguf' 256.png 256 || fail 'no thumbnail'
fi
equal "$(size_of "$TMP/256.png")" '256 124'
# The calling program may have the file open already.
: >"$TMP/open.png"
exec 5<"$TMP/open.png"
thumbnail 'a b.gguf' open.png 256 || fail 'no thumbnail'
cmp "$TMP/256.png" - <&5 || fail 'it is another file'
exec 5<&-
for icon in organfs application-x-gguf; do
	rsvg-convert -w 16 -h 16 "$helpers/$icon.svg" -o "$TMP/16.png" || fail "$icon.svg"
	equal "$(size_of "$TMP/16.png")" '16 16' "$icon.svg"
done
mv "$TMP/a b.gguf" "$TMP/-o.gguf"
thumbnail -o.gguf -128.png 128 || fail 'no thumbnail of -o.gguf'
equal "$(size_of "$TMP/-128.png")" '128 62'
cp "$MALFORMED/magic-lfs.gguf" "$TMP/bad.gguf"
for model in bad.gguf none.gguf; do
	! thumbnail $model bad.png 128 2>/dev/null || fail "a thumbnail of $model"
done
printf '#!/bin/sh\nprintf x\nexit 1\n' >"$TMP/bin/rsvg-convert"
chmod +x "$TMP/bin/rsvg-convert"
! thumbnail blob bad.png 128 2>/dev/null || fail 'a thumbnail that could not be drawn'
rm "$TMP/bin/rsvg-convert"
absent "$TMP/bad.png"

# model.gguf of a mount gets no thumbnail, and no measurement.
mount_model -o ro "$TMP/blob"
! thumbnail "$MNT/model.gguf" bad.png 128 || fail 'a thumbnail of a model in a mount'
absent "$TMP/bad.png"
unmount_and_wait

# A killed thumbnailer ends its child processes.
printf '#!/bin/sh\necho $$ >"%s"\nexec sleep 300\n' "$TMP/sleeper" >"$TMP/bin/slow"
chmod +x "$TMP/bin/slow"
ORGANFS=$TMP/bin/slow "$helpers/organfs-thumbnailer" "$TMP/blob" "$TMP/bad.png" 128 &
thumbnailer=$!
until_true 60 test -s "$TMP/sleeper" || fail 'it does not run organfs'
kill -9 $thumbnailer
until_true 60 is_gone "$(cat "$TMP/sleeper")" || fail 'organfs goes on without a reader'
[ ! -s "$TMP/bad.png" ] || fail 'half a thumbnail'

#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# release: takes memory and time
# timeout: 300
# alone
# All operations at once for LONG seconds (default 20): memory, descriptors, threads and inodes of
# the daemon do not grow from the first half to the second; the first three stay below the limits
# in organfs(1); an undo of everything gives the base again.
. "${0%/*}/../lib.sh"

base=$(use stories260K)
mkdir "$TMP/out"
mount_model -o "noassemble,layer=$TMP/layer" "$base"
URL=
if [ -e /usr/lib/lighttpd/mod_webdav.so ] && command -v curl >/dev/null; then
	serve "$MNT"
fi
grown() {
	"$here/../tools/soak.py" "$MNT" "${DAEMON[$MNT]}" "$1" "$TMP/out" $URL >"$TMP/samples" \
		2>"$TMP/said" || fail "$(cat "$TMP/said")"
	# Print the maximum of each half, after a start in which threads and pools are made.
	awk -v seconds="$1" '
		$1 < seconds / 6 { next }
		{ half = $1 > seconds * 7 / 12 }
		{ for (i = 2; i <= 5; i++) if ($i > most[half, i]) most[half, i] = $i }
		END { for (i = 2; i <= 5; i++) print most[0, i], most[1, i] }' "$TMP/samples"
}
grown "${LONG:-20}" >"$TMP/most"
cat "$TMP/said"
echo 'most of each half: KiB, descriptors, threads, inodes'
cat "$TMP/most"
{
	read -r kib later_kib && read -r fds later_fds && read -r threads later_threads &&
		read -r inodes later_inodes
} <"$TMP/most"

slots=$(find "$MNT/.base" -name '*.bin' | wc -l)
[ "$slots" -ge 48 ] || fail "$slots slots"
case $(nm "$ORGANFS" 2>/dev/null) in
*__asan_* | *__tsan_*) ;; # a sanitizer keeps freed memory
*)
	[ "$later_kib" -le $((kib + 8192)) ] || fail "$kib KiB, then $later_kib"
	[ "$later_kib" -le $((65536 + 2048 * $(nproc))) ] || fail "$later_kib KiB"
	;;
esac
# Each graft has two descriptors, beside those open at the moment.
[ "$later_fds" -le $((fds + 32)) ] || fail "$fds descriptors, then $later_fds"
[ "$later_fds" -le $((2 * slots + 96)) ] || fail "$later_fds descriptors"
[ "$later_threads" -le $((threads + 16)) ] || fail "$threads threads, then $later_threads"
[ "$later_threads" -le $((96 + 4 * $(nproc))) ] || fail "$later_threads threads"
# Some 400 names exist at a time; other filesystems of the machine may have more.
[ "$later_inodes" -le $((inodes + 1024)) ] || fail "$inodes inodes, then $later_inodes"

# Nothing remains.
echo all >"$MNT/.undo"
until_true 60 cmp -s "$MNT/model.gguf" "$base" || fail 'another model'
equal "$(cat "$MNT/.grafts")" ''
no_leak 40
[ -z "$URL" ] || kill "$SERVER"
[ -z "$URL" ] || wait "$SERVER" || true
unmount_and_wait
empty_layer "$TMP/layer"

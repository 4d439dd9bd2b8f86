#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Files of defaults: the user's file wins over the system's, the command line over both. A file of
# another kind gives one line of error and no mount, and blocks no process.
. "${0%/*}/../lib.sh"

if [ "$(id -u)" = 0 ] && [ -z "${ORGANFS_TEST_NAMESPACE-}" ] && unshare -m true 2>/dev/null; then
	ORGANFS_TEST_NAMESPACE=1 exec unshare -m "$0"
fi
export HOME=$TMP/home
mkdir "$HOME" "$HOME/.config"
file=$XDG_CONFIG_HOME/organfs.conf
base=$(use stories260K)

# is_mounted OPTION [COMMAND LINE OPTIONS]: mount, check rw or ro, and unmount.
is_mounted() {
	mount_daemon ${2:+-o "$2"} "$base" "$MNT"
	equal "$(findmnt -n -o OPTIONS "$MNT" | cut -c 1-2)" "$1" "with ${2:-no options}"
	unmount_and_wait
}
# refuses PATTERN: organfs prints one line, soon exits with 2, and mounts nothing.
refuses() {
	local status=0
	in_time 10 "$ORGANFS" "$base" "$MNT" >"$TMP/said" 2>&1 </dev/null || status=$?
	equal $status 2 "exit status, which says: $(cat "$TMP/said")"
	equal "$(wc -l <"$TMP/said")" 1 "lines of $(cat "$TMP/said")"
	grep -Eq -- "$1" "$TMP/said" || fail "says: $(cat "$TMP/said")"
	! mountpoint -q "$MNT" || fail "mounted: $1"
}

is_mounted rw
printf '# mine\n\nro\t# look, and touch nothing\n views = listed\n' >"$file"
mount_daemon "$base" "$MNT"
exists "$MNT/.views"
ls -A "$MNT" | grep -qx .views || fail 'views=listed is not heard'
expect_fail 'read-only' touch "$MNT/organs/x.bin"
unmount_and_wait
is_mounted rw rw
is_mounted ro samples=all
# Without the other variables HOME is used.
mv "$file" "$HOME/.config/organfs.conf"
is_mounted rw
XDG_CONFIG_HOME='' is_mounted ro
XDG_CONFIG_HOME=relative is_mounted ro
(unset XDG_CONFIG_HOME && is_mounted ro)
# Commands without a mount read the file too, except the help.
echo 'samples=256' >"$file"
"$ORGANFS" --picture "$base" >"$TMP/few.svg"
"$ORGANFS" --picture -o samples=all "$base" >"$TMP/all.svg"
differ "$TMP/few.svg" "$TMP/all.svg"
echo 'nonsense' >"$file"
expect_fail "organfs: $file:1: unknown option \"nonsense\"" "$ORGANFS" --picture "$base"
"$ORGANFS" --help | grep -q '/etc/organfs.conf' || fail 'no help'
"$ORGANFS" --version >/dev/null || fail 'no version'

printf 'ro\nthreads=many\n' >"$file"
refuses "^organfs: $file:2: threads=many: "
echo 'layer=/somewhere' >"$file"
refuses "^organfs: $file:1: layer cannot be a default"
echo '-o ro' >"$file"
refuses "^organfs: $file:1: .*without"
printf 'ro\n\033[31m\n' >"$file"
refuses "^organfs: $file:2: .*control character"
yes '# a comment' | head -c 100000 >"$file"
refuses "^organfs: $file: the file is larger than 64 KiB"
printf '%2000d\n' 1 >"$file"
refuses "^organfs: $file:1: the line is longer than 1024 bytes"
rm "$file"
mkfifo "$file"
refuses "^organfs: $file: not a regular file"
rm "$file"
mkdir "$file"
refuses "^organfs: $file: not a regular file"
rmdir "$file"
ln -s /dev/zero "$file"
refuses "^organfs: $file: not a regular file"
rm "$file"
ln -s nowhere "$file"
is_mounted rw
rm "$file"

[ -n "${ORGANFS_TEST_NAMESPACE-}" ] || exit 0
# Another user's file in the environment is reported and ignored.
echo ro >"$file"
chown 65534 "$file"
"$ORGANFS" "$base" "$MNT" 2>"$TMP/said" || fail "$(cat "$TMP/said")"
equal "$(cat "$TMP/said")" "organfs: $file: not read, as it belongs to another user"
equal "$(findmnt -n -o OPTIONS "$MNT" | cut -c 1-2)" rw "another user's file"
unmount_and_wait
rm "$file"

# The system's file is in a directory that only this test sees.
mkdir "$TMP/etc"
echo ro >"$TMP/etc/organfs.conf"
mount -t overlay -o "lowerdir=$TMP/etc:/etc" overlay /etc 2>/dev/null || exit 0
is_mounted ro
is_mounted rw rw
echo rw >"$file"
is_mounted rw
echo samples=all >"$file"
is_mounted ro
umount /etc
printf 'ro\nnonsense\n' >"$TMP/etc/organfs.conf"
mount -t overlay -o "lowerdir=$TMP/etc:/etc" overlay /etc
refuses '^organfs: /etc/organfs.conf:2: unknown option "nonsense"'

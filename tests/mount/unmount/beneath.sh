#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# A daemon that ends on request, or is killed with auto_unmount, removes its own mount, even if a
# directory above was renamed, and nothing mounted over it.
. "${0%/*}/../lib.sh"

with_mount_helper
with_ordinary_user
ORGANFS=$TMP/bin/organfs # the build directory may be closed to other users
base=$(use stories260K)
user='as_user env -u XDG_STATE_HOME -u XDG_CONFIG_HOME'

is_mounted() {
	grep -q " $1 .* - fuse\.organfs " /proc/self/mountinfo
}

# begin OPTIONS WHO MODEL MOUNTPOINT: mount; sets pid.
begin() {
	$2 "$ORGANFS" -o "$1" "$3" "$4" || fail "$2: not mounted"
	pid=$(daemon_of "$4" $2)
}

# moved OPTIONS WHO MODEL DIRECTORY SIGNAL: move a directory above, then end it.
moved() {
	$2 mkdir -p "$4/above/mnt"
	begin "$1" "$2" "$3" "$4/above/mnt"
	$2 mv "$4/above" "$4/renamed"
	is_mounted "$4/renamed/mnt" || fail 'not where it was moved to'
	kill "-$5" "$pid"
	until_true 60 eval "! is_mounted '$4/renamed/mnt'" ||
		fail "$2: still mounted after SIG$5, moved"
	until_true 60 is_gone "$pid" || fail 'the daemon stays'
	$2 rm -r "$4/renamed"
}

cp "$base" "$TMP/home/m.gguf"
chown "$ORDINARY" "$TMP/home/m.gguf"
mkdir "$TMP/roots"
for end in TERM KILL; do
	moved noassemble,auto_unmount env "$base" "$TMP/roots" $end
	moved noassemble,auto_unmount "$user" "$TMP/home/m.gguf" "$TMP/home" $end
done
moved noassemble env "$base" "$TMP/roots" TERM

# A covered mount stays beneath, with a message.
mount_model -o noassemble "$base"
mount -t tmpfs others "$MNT"
echo precious >"$MNT/file"
pid=${DAEMON[$MNT]}
kill "$pid"
until_true 60 is_gone "$pid" || fail 'the daemon stays'
unset "DAEMON[$MNT]"
equal "$(cat "$MNT/file")" precious "another's mount"
grep -q "$MNT: another mount lies over this one" "$LOGS/${MNT##*/}" ||
	fail "nothing is said: $(cat "$LOGS/${MNT##*/}")"
umount "$MNT"
is_mounted "$MNT" || fail 'not beneath'
umount -i "$MNT"

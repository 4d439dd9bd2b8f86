#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# dies of: SEGV
# -o auto_unmount: a killed daemon's mount is removed, for root and for a user; otherwise the end
# is as without it, and a later foreign mount in that place stays.
. "${0%/*}/../lib.sh"

with_mount_helper
with_ordinary_user
ORGANFS=$TMP/bin/organfs # the build directory may be closed to other users
base=$(use stories260K)
"$GGUF" organ "$MODELS/stories260K-donor.gguf" blk.1.ffn_up.weight "$TMP/organ.bin"
"$GGUF" splice "$base" "$MODELS/stories260K-donor.gguf" blk.1.ffn_up.weight "$TMP/expected"

# A sanitizer reports this signal as a fault of the program.
ends='KILL SEGV'
! grep -q '__[at]san_init' "$ORGANFS" || ends=KILL

# Another user's mount is closed to root.
is_mounted() {
	grep -q " $1 .* - fuse\.organfs " /proc/self/mountinfo
}

# begin OPTIONS WHO MOUNTPOINT MODEL: $pid is the daemon, $waiting the fusermount3 that waits for
# its end, adopted by the supervisor.
begin() {
	local said child
	said=$($2 "$ORGANFS" -o "$1,pidfile=$4.pid" "$4" "$3" 2>&1) || fail "$2 $said"
	is_mounted "$3" || fail 'not mounted'
	pid=$(cat "$4.pid")
	waiting=
	for child in $(children_of "$PPID"); do
		[ "$(cat "/proc/$child/comm")" != fusermount3 ] || waiting=$child
	done
	[ -n "$waiting" ] || fail 'fusermount3 does not wait'
}
waits_no_more() {
	until_true 60 is_gone "$waiting" || fail 'the process that waits for the daemon goes on'
}

# try OPTIONS WHO MOUNTPOINT MODEL: kill it, also after its fusermount3 has ended; then graft, then
# replace it.
try() {
	local options=$1 who=$2 mnt=$3 model=$4 end pid waiting
	for end in $ends alone; do
		begin "$@"
		if [ $end = alone ]; then
			kill -KILL "$waiting"
			waits_no_more
			end=KILL
		fi
		kill -$end "$pid"
		until_true 60 eval "! is_mounted '$mnt'" ||
			fail "$who: still mounted after SIG$end"
		waits_no_more
		ls "$mnt" >/dev/null || fail "$who: a dead mount"
	done

	begin "$@"
	$who cp "$TMP/organ.bin" "$mnt/organs/blk_1_ffn_up.bin"
	umount_says 0 '' $who "$HELPER" "$mnt"
	waits_no_more
	same "${model%.gguf}.grafted.gguf" "$TMP/expected"

	# The daemon of a removed mount ends while another mount exists.
	begin "$@"
	kill -STOP "$pid"
	$who fusermount3 -uz "$mnt"
	$who "$ORGANFS" -o ro "$model" "$mnt"
	kill -KILL "$pid"
	waits_no_more
	$who ls "$mnt/organs" >/dev/null || fail "another's mount is gone"
	umount_says 0 '' $who "$HELPER" "$mnt"
}

try auto_unmount env "$MNT" "$base"
mkdir "$TMP/home/mnt"
cp "$base" "$TMP/home/m.gguf"
chown "$ORDINARY" "$TMP/home/mnt" "$TMP/home/m.gguf"
chmod 755 "$TMP"
chmod 644 "$TMP/organ.bin"
user='as_user env -u XDG_STATE_HOME -u XDG_CONFIG_HOME'
try auto_unmount "$user" "$TMP/home/mnt" "$TMP/home/m.gguf"
rm "$TMP/home/m.grafted.gguf"
echo user_allow_other >"$TMP/fuse.conf"
mount --bind "$TMP/fuse.conf" /etc/fuse.conf || exit 0
try auto_unmount,allow_root "$user" "$TMP/home/mnt" "$TMP/home/m.gguf"

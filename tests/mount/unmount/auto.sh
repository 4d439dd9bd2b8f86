#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# dies of: SEGV
# -o auto_unmount: where the daemon is killed the mount goes too, for root and for a user; otherwise
# the end is as without it, and what others mount there stays.
. "${0%/*}/../lib.sh"

with_mount_helper
with_ordinary_user
ORGANFS=$TMP/bin/organfs # the build may be in a directory that is closed to other users
base=$(use stories260K)
"$GGUF" organ "$MODELS/stories260K-donor.gguf" blk.1.ffn_up.weight "$TMP/organ.bin"
"$GGUF" splice "$base" "$MODELS/stories260K-donor.gguf" blk.1.ffn_up.weight "$TMP/expected"

# A sanitizer reports this signal as a fault of the program's.
ends='KILL SEGV'
! grep -q '__[at]san_init' "$ORGANFS" || ends=KILL

# Another user's mount is closed to root.
is_mounted() {
	grep -q " $1 .* - fuse\.organfs " /proc/self/mountinfo
}

# try OPTIONS WHO MOUNTPOINT MODEL: killed, also where fusermount3 no longer waits for that, then
# grafted, then replaced.
try() {
	local options=$1 who=$2 mnt=$3 model=$4 pid
	for end in $ends alone; do
		said=$($who "$ORGANFS" -o "$options" "$model" "$mnt" 2>&1) || fail "$who $said"
		is_mounted "$mnt" || fail 'not mounted'
		pid=$(pgrep -n -f -- "^$ORGANFS .*$mnt\$")
		if [ $end = alone ]; then
			pkill -KILL -f -- "^[^ ]*fusermount3 .*auto.unmount.* $mnt\$" ||
				fail 'fusermount3 does not wait'
			end=KILL
		fi
		kill -$end "$pid"
		until_true 60 eval "! is_mounted '$mnt'" ||
			fail "$who: still mounted after SIG$end"
		ls "$mnt" >/dev/null || fail "$who: a dead mount"
	done

	$who "$ORGANFS" -o "$options" "$model" "$mnt"
	$who cp "$TMP/organ.bin" "$mnt/organs/blk_1_ffn_up.bin"
	umount_says 0 '' $who "$HELPER" "$mnt"
	same "${model%.gguf}.grafted.gguf" "$TMP/expected"

	# The daemon of a mount that is gone ends when another one is there.
	$who "$ORGANFS" -o "$options" "$model" "$mnt"
	pid=$(pgrep -n -f -- "^$ORGANFS .*$mnt\$")
	kill -STOP "$pid"
	$who fusermount3 -uz "$mnt"
	$who "$ORGANFS" -o ro "$model" "$mnt"
	kill -KILL "$pid"
	until_true 60 eval "! pgrep -f -- 'auto_unmount.* $mnt\$' >/dev/null" ||
		fail 'what waits for the daemon goes on'
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

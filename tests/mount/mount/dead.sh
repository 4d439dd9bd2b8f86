#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The next mount removes a dead daemon's mount of the same user and takes up its grafts. A mount of
# another user, of another filesystem or with a living daemon stays.
. "${0%/*}/../lib.sh"

with_mount_helper
with_ordinary_user
unset XDG_STATE_HOME
cd "$TMP"
base=$(use stories260K)
"$GGUF" organ "$MODELS/stories260K-donor.gguf" blk.1.ffn_up.weight organ.bin
cp "$base" "$TMP/home/m.gguf"
chown "$ORDINARY:$ORDINARY" "$TMP/home/m.gguf"

# left MODEL MOUNTPOINT [COMMAND...]: leave a dead mount with a graft.
left() {
	local pid
	"${@:3}" organfs "$1" "$2"
	"${@:3}" cp organ.bin "$2/organs/blk_1_ffn_up.bin"
	pid=$(daemon_of "$2" "${@:3}")
	kill -9 "$pid"
	until_true 60 is_gone "$pid" || late 'it does not die'
}
# taken_up MODEL MOUNTPOINT [COMMAND...]: mount, and check the graft.
taken_up() {
	"${@:3}" organfs "$1" "$2" >said 2>&1 || fail "$(cat said)"
	equal "$(head -n 1 said)" "organfs: $2: removed the mount that a dead daemon had left"
	grep -q 'took up 1 graft' said || fail "$(cat said)"
	equal "$("${@:3}" cut -f 1 "$2/.grafts")" organs/blk_1_ffn_up.bin
	equal "$(grep -c " ${2%/} " /proc/self/mountinfo)" 1 'mounts'
	[ $# -gt 2 ] || equal "$(grep -c "TARGET=${2%/} " /run/mount/utab)" 1 'lines of utab'
	umount "$2"
	rm "${1%.gguf}.grafted.gguf"
}
# refused PATTERN MOUNTPOINT [COMMAND...]: the mount fails.
refused() {
	expect_fail "$1" "${@:3}" organfs -o ro "$MODELS/stories260K-q8_0.gguf" "$2"
}

left "$base" "$MNT"
taken_up "$base" "$MNT"
left "$base" "$MNT"
taken_up "$base" "$MNT/"
left "$TMP/home/m.gguf" "$TMP/home/mnt" as_user
refused 'Permission denied' "$TMP/home/mnt"
taken_up "$TMP/home/m.gguf" "$TMP/home/mnt" as_user

# A daemon that does not answer is not dead.
organfs -o ro "$base" "$MNT"
pid=$(daemon_of "$MNT")
stop "$pid"
refused 'mounted there already' "$MNT"
kill -CONT "$pid"
mountpoint -q "$MNT" || fail 'the mount is gone'
umount "$MNT"

# A user who moves a directory above the mount while its daemon is asked, and puts a link in its
# place, cannot have another mount detached.
mkdir -p others/mnt "$TMP/home/above"
chown "$ORDINARY:$ORDINARY" "$TMP/home/above"
mount -t tmpfs other others/mnt
touch others/mnt/file
organfs -o ro "$base" "$TMP/home/above/mnt"
pid=$(daemon_of "$TMP/home/above/mnt")
stop "$pid"
organfs -o ro "$base" "$TMP/home/above/mnt" >said 2>&1 &
asker=$!
asks() {
	[ -n "$(children_of $asker)" ]
}
until_true 60 asks || late 'its daemon is not asked'
as_user sh -c "cd '$TMP/home' && mv above moved && ln -s '$TMP/others' above"
kill -9 "$pid"
! wait $asker || fail 'it is mounted elsewhere'
mountpoint -q others/mnt || fail "another mount was detached: $(cat said)"
umount others/mnt "$TMP/home/moved/mnt"

# The mount is another FUSE filesystem's, whose daemon is gone.
exec 6<>/dev/fuse
mount -i -t fuse.other -o fd=6,rootmode=040000,user_id=0,group_id=0 other "$MNT"
exec 6<&-
refused 'daemon of an earlier mount is gone' "$MNT"
umount "$MNT"

#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Lines of fstab that let a user mount, and mounts by root for another user.
. "${0%/*}/../lib.sh"

with_mount_helper
with_ordinary_user
says() {
	umount_says "$@"
}
mkdir "$TMP/home/mnt" "$TMP/roots"
base=$TMP/home/stories260K.gguf
out=${base%.gguf}.grafted.gguf
cp "$MODELS/stories260K.gguf" "$base"
chown -R "$ORDINARY:$ORDINARY" "$TMP/home"
mnt=$TMP/home/mnt
name=$(awk -F : -v user=$ORDINARY '$3 == user { print $1; exit }' "$TMP/passwd")
cat >"$TMP/fstab" <<END
$base $mnt organfs noauto,user,samples=all 0 0
$base $TMP/roots organfs noauto,users,ro 0 0
$MALFORMED/magic-lfs.gguf $TMP/home organfs noauto,user 0 0
END
[ -e /etc/fstab ] || skip 'no /etc/fstab that another could be put over'
mount --bind "$TMP/fstab" /etc/fstab
unset XDG_STATE_HOME
donor=$MODELS/stories260K-donor.gguf
"$GGUF" organ "$donor" blk.1.ffn_up.weight "$TMP/organ.bin"
"$GGUF" splice "$base" "$donor" blk.1.ffn_up.weight "$TMP/expected"

written() {
	same "$out" "$TMP/expected"
	equal "$(stat -c %u "$out")" $ORDINARY 'owner of the new model'
	rm "$out"
}

# is_his: the mount is the user's, with these options.
is_his() {
	as_user findmnt -n -o OPTIONS "$mnt" | grep -Eq "$1.*user_id=$ORDINARY," ||
		fail "$(findmnt "$mnt")"
}

# The option user lets a user mount, gives no further rights, and lets that user unmount.
says 0 '' as_user mount "$mnt"
is_his '^rw,nosuid,nodev,noexec,'
as_user cp "$TMP/organ.bin" "$mnt/organs/blk_1_ffn_up.bin"
layer=$(echo "$TMP/home/.local/state/organfs"/*)
equal "$(stat -c '%u %a' "$layer/layer.db")" "$ORDINARY 600" 'owner and mode of the layer'
equal "$(layer_sql "$layer" 'SELECT name FROM slot')" blk_1_ffn_up 'the grafts in it'
says 0 '' as_user umount "$mnt"
written
says 0 '' as_user mount "$base"
is_his '^rw'
says 0 '' umount "$mnt"
says 32 'magic' as_user mount "$TMP/home"
# The user needs write access to the directory.
says 32 'fusermount3: .*no write access' as_user mount "$TMP/roots"
! mountpoint -q "$TMP/roots" || fail 'mounted where the user may not write'
says 1 'only root can mount for another' as_user "$TMP/sbin/mount.organfs" "$base" "$mnt" \
	-o "setuid=root"
says 0 '' as_user "$TMP/sbin/mount.organfs" "$base" "$mnt" -o "setuid=$name,user=$name"
is_his '^rw'
says 0 '' as_user umount "$mnt"

# Root mounts with another user's rights, as mount.fuse does.
for type in organfs fuse.organfs; do
	says 0 '' mount -t $type -o "setuid=$name,noexec" "$base" "$mnt"
	is_his '^rw,nosuid,nodev,noexec,'
	readahead=/sys/class/bdi/$(as_user mountpoint -d "$mnt")/read_ahead_kb
	# The other type is libfuse's helper's. In a container root cannot set the read-ahead.
	[ $type != organfs ] || ! [ -w "$readahead" ] || equal "$(cat "$readahead")" 1024 readahead
	as_user cp "$TMP/organ.bin" "$mnt/organs/blk_1_ffn_up.bin"
	! ls "$mnt" >/dev/null 2>&1 || fail 'root can look into it'
	says 0 '' as_user umount "$mnt"
	written
done
no_litter "$TMP/home/.local/state"

# Root's own mount is visible to everyone.
says 0 '' mount -t organfs -o "allow_other,uid=$ORDINARY,ro" "$base" "$mnt"
equal "$(as_user stat -c %u "$mnt/organs/blk_1_ffn_up.bin")" $ORDINARY
says 0 '' umount "$mnt"

# A user gets the reason why FUSE is closed.
organfs_says() {
	umount_says 1 "$1" as_user organfs "$base" "$mnt"
	equal "$(grep -c '^organfs: ' "$TMP/.said")" 1 "$(cat "$TMP/.said")"
}
mkdir -p "$TMP/upper" "$TMP/dev"
mount -t tmpfs tmpfs "$TMP/upper"
mkdir "$TMP/upper/upper" "$TMP/upper/work"
if [ -e /usr/local/bin/fusermount3 ]; then
	echo 'not tried without fusermount3: another one is in /usr/local/bin'
elif mount -t overlay -o "lowerdir=/usr/bin,upperdir=$TMP/upper/upper,workdir=$TMP/upper/work" \
	overlay /usr/bin 2>/dev/null; then
	rm /usr/bin/fusermount3
	# libfuse prints something too, in some releases without a newline.
	umount_says 1 'organfs: fusermount3, .* package fuse3 ' as_user organfs "$base" "$mnt"
	umount -l /usr/bin
else
	echo 'not tried without fusermount3: no overlay over /usr/bin'
fi
umount_says 1 'organfs: .*CAP_SYS_ADMIN.* container .*--cap-add SYS_ADMIN' \
	setpriv --bounding-set -sys_admin organfs "$base" "$mnt"
chmod 600 "$TMP/fuse"
organfs_says '^organfs: /dev/fuse: Permission denied: .* sudo chmod 666 /dev/fuse; a container '
touch "$TMP/dev/null"
mount --bind /dev/null "$TMP/dev/null"
mount --rbind "$TMP/dev" /dev
organfs_says '^organfs: /dev/fuse: No such file .*: sudo modprobe fuse; a container .*--device '
umount -l /dev

#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# mount(8): mount -t organfs, lines of fstab, umount by mount point and by source, exit statuses.
. "${0%/*}/../lib.sh"

need findmnt
with_mount_helper
says() {
	umount_says "$@"
}
base=$(use stories260K)
mkdir "$TMP/a, \"dir\""
odd="$TMP/a, \"dir\"/b 100%.gguf"
cp "$base" "$odd"
cp "$MODELS/stories260K-q8_0.gguf" "$TMP/q8.gguf"
helper=$TMP/sbin/mount.organfs

# shows: check the mount's source, and a pattern of its options.
shows() {
	equal "$(findmnt -n -o SOURCE "$1")" "$2" 'the source'
	findmnt -n -o OPTIONS "$1" | grep -Eq -- "$3" || fail "options: $(findmnt "$1")"
}

# The PATH is as hostile as after mount(8).
says 0 '' env PATH=/bin:/usr/bin /bin/mount -t organfs -o ro,samples=all "$base" "$MNT"
shows "$MNT" "$base" '^ro,nosuid,nodev,'
same "$MNT/model.gguf" "$base"
says 0 '' umount "$MNT"
cd "$TMP"
says 0 '' mount -t organfs -o rw,noexec ./stories260K.gguf "../${MNT##*/}"
shows "$MNT" "$base" '^rw,nosuid,nodev,noexec,'
"$GGUF" organ "$MODELS/stories260K-donor.gguf" blk.1.ffn_up.weight organ.bin
"$GGUF" splice "$base" "$MODELS/stories260K-donor.gguf" blk.1.ffn_up.weight expected
# Unmount as systemd does, and by the source.
cp organ.bin "$MNT/organs/blk_1_ffn_up.bin"
says 0 '' umount -c "$MNT"
same stories260K.grafted.gguf expected
says 0 '' mount -t organfs "$odd" "$MNT"
shows "$MNT" "$odd" '^rw,'
cp organ.bin "$MNT/organs/blk_1_ffn_up.bin"
says 0 '' umount "$odd"
same "${odd%.gguf}.grafted.gguf" expected

# umount with an absolute path waits for the helper because of an entry in utab, next to mount(8)'s
# own entry for some options. Both entries end with the mount in any case.
noted() {
	sed -n "s|.* TARGET=$MNT .*OPTS=||p" /run/mount/utab | tr , '\n' | sort | tr '\n' ,
}
says 0 '' mount -t organfs -o x-gvfs-show,_netdev,noauto "$base" "$MNT"
equal "$(noted)" _netdev,x-gvfs-show,x-organfs.waits, 'the entry'
cp organ.bin "$MNT/organs/blk_1_ffn_up.bin"
rm stories260K.grafted.gguf
says 0 '' umount "$MNT"
same stories260K.grafted.gguf expected
equal "$(noted)" ''
organfs -o ro "$base" "$MNT"
equal "$(noted)" x-organfs.waits,
fusermount3 -u "$MNT"
until_true 60 eval '[ -z "$(noted)" ]' || fail 'the entry stays'
organfs -o ro "$base" "$MNT"
first=$(daemon_of "$MNT")
umount -i "$MNT"
organfs -o ro "$base" "$MNT"
until_true 60 is_gone "$first" || fail 'two daemons'
equal "$(noted)" x-organfs.waits, 'of a second mount'
says 0 '' umount "$MNT"
equal "$(noted)" ''

# Values with commas are in double quotes, as for mount(8), or have a backslash, as for FUSE.
says 0 '' mount -t organfs -o 'output="x, \100%.gguf",ro' "$base" "$MNT"
says 0 '' umount "$MNT"
says 0 '' mount -t organfs -o 'layer=y\,z,output="x, \040y.gguf"' "$base" "$MNT"
cp organ.bin "$MNT/organs/blk_1_ffn_up.bin"
exists "y,z/layer.db"
says 0 '' umount "$MNT"
same 'x, \040y.gguf' expected
# A mount over a mount is refused; over other content it needs nonempty.
says 0 '' mount -t organfs -o ro "$base" "$MNT"
says 32 'a model is mounted there already' mount -t organfs -o ro,nonempty "$odd" "$MNT"
says 0 '' umount "$MNT"
touch "$MNT/mine"
says 32 'the directory is not empty' mount -t organfs -o ro "$base" "$MNT"
says 0 '' mount -t organfs -o ro,nonempty "$base" "$MNT"
says 0 '' umount "$MNT"
rm "$MNT/mine"
says 0 '' mount -t organfs -o "model=$TMP/q8.gguf,ro" "$base" "$MNT"
same "$MNT/q8/model.gguf" q8.gguf
same "$MNT/stories260K/model.gguf" stories260K.gguf
says 0 '' umount "$MNT"

# The source is the named shard, not the first one.
says 0 '' mount -t organfs -o ro "$MODELS/stories260K-split-00002-of-00003.gguf" "$MNT"
shows "$MNT" "$(realpath "$MODELS")/stories260K-split-00002-of-00003.gguf" '^ro'
says 0 '' umount "$MNT"

mkdir blobs links
for i in 1 2 3; do
	cp "$MODELS/stories260K-split-0000$i-of-00003.gguf" "blobs/$i"
	ln -s "../blobs/$i" "links/x-0000$i-of-00003.gguf"
done
(cd links && organfs -o ro ./x-00003-of-00003.gguf "$MNT")
shows "$MNT" "$TMP/links/x-00003-of-00003.gguf" '^ro'
says 0 '' umount "$MNT"
# mount(8) follows links itself, so the links are named by their directory.
says 0 '' mount -t organfs -o ro links "$MNT"
shows "$MNT" "$TMP/links" '^ro'
exists "$MNT/x/model.gguf"
says 0 '' umount "$MNT"

# Refusals and their exit status.
says 32 "^organfs: $TMP/none.gguf: " mount -t organfs "$TMP/none.gguf" "$MNT"
says 32 "^organfs: .*magic-lfs.gguf: " mount -t organfs "$MALFORMED/magic-lfs.gguf" "$MNT"
says 1 '^organfs: unknown option "nosuch=1"' mount -t organfs -o nosuch=1 "$base" "$MNT"
says 1 'setuid=nobody-of-us: there is no such user' \
	mount -t organfs -o setuid=nobody-of-us "$base" "$MNT"
says 1 'setuid= needs a user' mount -t organfs -o setuid= "$base" "$MNT"
says 1 '^usage:' "$helper"
says 1 '^usage:' "$helper" "$base"
says 1 '^usage:' "$helper" "$base" "$MNT" -x
says 1 '^usage:' "$helper" "$base" "$MNT" -o
says 1 '^usage:' "$helper" "$base" "$MNT" more
says 0 '^usage:' "$helper" --help
mkdir -p lone/sbin empty
cp "$helper" lone/sbin
says 2 'organfs is not installed' unshare -m \
	sh -c 'mount --bind empty "${1%/*}" && lone/sbin/mount.organfs "$2" "$3"' \
	sh "$(command -v organfs)" "$base" "$MNT"
! mountpoint -q "$MNT" || fail 'something is mounted'
says 0 '' mount -f -t organfs "$base" "$MNT"
! mountpoint -q "$MNT" || fail 'a fake mount is one'
says 0 'mount.organfs: .*/organfs -o rw -- .*stories260K.gguf' \
	mount -v -n -s -t organfs "$base" "$MNT"
# mount(8) knows only the type of a mounted model, and runs FUSE's helper for it.
says 2 'remount: .*unmount it' mount -o remount,ro "$MNT"
says 1 'remount: .*unmount it' mount -t organfs -o remount,ro "$base" "$MNT"
# libmount 2.41 and later pass options in this order.
says 1 'remount: .*unmount it' \
	"$helper" "$base" "$MNT" -o ro,nosuid,nodev,user_id=0,group_id=0,allow_other,remount
shows "$MNT" "$base" '^rw,'
says 0 '' umount "$MNT"

# Another mount namespace has a model that this one lacks.
mkdir hidden
unshare -m sh -c 'mount -t tmpfs none hidden && cp stories260K.gguf hidden/ && exec sleep 60' &
other=$!
until_true 60 eval '[ "$(cat /proc/'$other'/comm)" = sleep ]' || late 'no other namespace'
says 0 '' mount -N "$other" -t organfs -o ro,nofail "$TMP/hidden/stories260K.gguf" "$MNT"
! mountpoint -q "$MNT" || fail 'mounted in this namespace too'
nsenter -m -t $other cmp "$MNT/model.gguf" "$base"
nsenter -m -t $other umount "$MNT"
kill $other

# fstab: blanks, a directory, options for other programs, lines that cannot be mounted.
mkdir models "d 1" d2 d3 d4
cp q8.gguf models/q.gguf
ln -s "$odd" link.gguf
escape() {
	printf %s "$1" | sed 's/ /\\040/g'
}
others=nofail,_netdev,x-gvfs-show,x-systemd.automount,x-systemd.mount-timeout=infinity
others=$others,X-mount.mkdir,comment=a\\040b
cat >fstab <<END
$(escape "$odd") $TMP/d\\0401 organfs ro,samples=all,$others 0 0
$TMP/models $TMP/d2 organfs defaults,auto,users,noatime,nodiratime,sync,dirsync,lazytime,silent 0 0
$TMP/link.gguf $TMP/d3 fuse.organfs ro,relatime,nofail,user,exec 0 0
$MALFORMED/magic-lfs.gguf $TMP/d4 organfs noauto 0 0
END
says 0 '' mount -a -T fstab
shows "d 1" "$odd" '^ro,'
shows d2 "$TMP/models" '^rw,nosuid,nodev,noexec,noatime|^rw,.*noexec'
shows d3 "$odd" '^ro,'
same "d2/q/model.gguf" q8.gguf
cp -r /proc/self/mountinfo before
says 0 '' mount -a -T fstab
cmp <(cut -d ' ' -f 3- before) <(cut -d ' ' -f 3- /proc/self/mountinfo) || fail 'mounted twice'
equal "$(findmnt -n -o TARGET --source "$TMP/models")" "$TMP/d2"
says 32 'magic' mount -T fstab d4
says 0 '' umount -c "$TMP/d 1"
says 0 '' umount d2
says 0 '' umount d3
echo "$TMP/none.gguf $TMP/d4 organfs nofail 0 0" >nofail
says 0 '' mount -a -T nofail
says 0 'none.gguf is not there' "$helper" "$TMP/none.gguf" d4 -v -o ro,nofail
sed -i 's/noauto/nofail/' fstab
says 64 'magic' mount -a -T fstab
says 0 '' mount -a -O _netdev -T fstab
says 0 '' umount "$TMP/d 1" d2 d3
! grep ' - fuse.organfs ' /proc/self/mountinfo || fail 'something is mounted'

# The mounting user's defaults apply: with setuid= that user's, by the home in passwd.
if command -v setpriv >/dev/null && [ -u "$(command -v fusermount3)" ]; then
	with_ordinary_user
	mkdir -p "$TMP/home/.config" "$TMP/home/mnt"
	echo ro >"$TMP/home/.config/organfs.conf"
	echo 'unheard of' >"$XDG_CONFIG_HOME/organfs.conf"
	cp "$base" "$TMP/home/m.gguf"
	chown -R "$ORDINARY" "$TMP/home"
	says 0 '' "$helper" "$TMP/home/m.gguf" "$TMP/home/mnt" -o "setuid=$(id -nu $ORDINARY)"
	shows "$TMP/home/mnt" "$TMP/home/m.gguf" '^ro,.*user_id=65534'
	says 0 '' umount "$TMP/home/mnt"
	says 1 'organfs.conf:1: expected one option a line' "$helper" "$base" "$MNT"
	rm "$XDG_CONFIG_HOME/organfs.conf"
	# Users of a directory service have large numbers.
	echo "many:x:4000000000:65534::$TMP/home:/bin/sh" >>"$TMP/passwd"
	if chown -R 4000000000 "$TMP/home" 2>/dev/null; then
		says 0 '' "$helper" "$TMP/home/m.gguf" "$TMP/home/mnt" -o setuid=4000000000
		shows "$TMP/home/mnt" "$TMP/home/m.gguf" '^ro,.*user_id=4000000000'
		says 0 '' umount "$TMP/home/mnt"
	fi
	echo "none:x:4294967295:65534::$TMP/home:/bin/sh" >>"$TMP/passwd"
	says 1 'there is no such user' "$helper" "$base" "$MNT" -o setuid=4294967295
fi

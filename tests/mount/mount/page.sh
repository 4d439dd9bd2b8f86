#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Each line of fstab and each command in mount.organfs(8) works as printed. README.md shows no
# other lines of fstab.
. "${0%/*}/../lib.sh"

with_mount_helper
with_ordinary_user
page=$here/../../mount-helpers/mount.organfs.8
# show SECTION: print its literal text.
show() {
	awk -v section=".Sh $1" '
		/^\.Sh / { here = $0 == section }
		here && /^\.Bd -literal/ { text = 1; next }
		/^\.Ed/ { text = 0 }
		text' "$page" | sed 's/\\e/\\/g'
}
show FSTAB >"$TMP/fstab"
show EXAMPLES >"$TMP/commands"
equal "$(grep -c ' organfs ' "$TMP/fstab")" 6 'lines of fstab'
sed -n 's/^ *\(.* organfs .* 0 0\)$/\1/p' "$here/../../README.md" >"$TMP/others"
! grep -vxFf "$TMP/fstab" "$TMP/others" || fail 'README.md has another line'
[ "$(wc -l <"$TMP/commands")" -ge 7 ] || fail "commands: $(cat "$TMP/commands")"

# Make the directories of the page, which may hide this one, and Alice, the ordinary user under
# another name.
cp "$MODELS/stories260K.gguf" "$MODELS/stories260K-q8_0.gguf" "$TMP"
for dir in /srv /home /mnt; do
	[[ $TMP != $dir/* ]] || skip "$TMP is in $dir"
	[ -d $dir ] && mount -t tmpfs tmpfs $dir || skip "no $dir"
done
mkdir /srv/models /srv/scribe /srv/organs /srv/both /srv/mine
mkdir -p /home/alice/scribe /home/alice/mnt
cp "$TMP/stories260K.gguf" /srv/scribe.gguf
cp "$TMP/stories260K.gguf" "/srv/my scribe.gguf"
cp "$TMP/stories260K-q8_0.gguf" /srv/models/clerk.gguf
chown -R "$ORDINARY:$ORDINARY" /home/alice
echo "alice:x:$ORDINARY:$ORDINARY::/home/alice:/bin/sh" >>"$TMP/passwd"
[ -e /etc/fstab ] || skip 'no /etc/fstab that another could be put over'
mount --bind "$TMP/fstab" /etc/fstab
unset XDG_STATE_HOME

umount_says 0 '' mount -a
umount_says 0 '' mount -a
equal "$(grep -c ' - fuse.organfs ' /proc/self/mountinfo)" 4 'mounts'
as_user cmp /srv/scribe/model.gguf /srv/scribe.gguf
cmp /srv/both/clerk/model.gguf /srv/models/clerk.gguf
exists '/srv/a, b/layer.db'
mount /srv/organs
as_user cmp /srv/organs/clerk/model.gguf /srv/models/clerk.gguf
as_user cp /home/alice/scribe/organs/blk_1_ffn_up.bin /home/alice/scribe/organs/blk_2_ffn_up.bin
as_user umount /home/alice/scribe
exists /home/alice/new.gguf
as_user mount /home/alice/mnt
as_user cmp /home/alice/mnt/model.gguf /srv/scribe.gguf
umount_says 0 '' umount -a -t fuse.organfs
! grep ' - fuse.organfs ' /proc/self/mountinfo || fail 'something is mounted'

bash -e -o pipefail "$TMP/commands" || fail 'the commands'
! grep ' - fuse.organfs ' /proc/self/mountinfo || fail 'something is mounted'

#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# A user's daemon can gain no privileges, and can still be unmounted: by a signal, by the helper of
# umount(8), which reads the progress, and by fusermount3.
. "${0%/*}/../lib.sh"

with_mount_helper
with_ordinary_user
ORGANFS=$TMP/bin/organfs # the build directory may be closed to other users
mkdir "$TMP/home/mnt"
cp "$MODELS/stories260K.gguf" "$TMP/home/m.gguf"
chown "$ORDINARY" "$TMP/home/mnt" "$TMP/home/m.gguf"
chmod 755 "$TMP"
mnt=$TMP/home/mnt

begin() {
	as_user env -u XDG_STATE_HOME -u XDG_CONFIG_HOME "$ORGANFS" "$TMP/home/m.gguf" "$mnt"
	daemon=$(daemon_of "$mnt" as_user) || fail 'no daemon'
}

is_mounted() {
	grep -q " $mnt .* - fuse\.organfs " /proc/self/mountinfo
}

begin
grep -q '^NoNewPrivs:[[:space:]]1$' "/proc/$daemon/status" || fail 'new privileges'
for set in CapPrm CapEff CapInh CapAmb; do
	grep -q "^$set:[[:space:]]0*\$" "/proc/$daemon/status" || fail "it has some in $set"
done
kill -TERM "$daemon"
until_true 60 is_gone "$daemon" || fail 'it does not end'
! is_mounted || fail 'a signal leaves the mount'

begin
as_user rm "$mnt/organs/blk_0_ffn_up.bin"
umount_says 2 'impossible' as_user "$HELPER" "$mnt"
[ -s "$TMP/home/m.grafted.gguf" ] || fail 'nothing was written'

begin
as_user fusermount3 -u "$mnt"
until_true 60 is_gone "$daemon" || fail 'it does not end'

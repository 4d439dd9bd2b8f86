#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# plain: LeakSanitizer does not work under strace
# A user who moves a directory above the mount while root's umount asks its daemon, and puts a link
# in its place, cannot make umount remove another mount.
. "${0%/*}/../lib.sh"

need setpriv
with_umount_helper
nobody=$(id -u nobody) group=$(id -g nobody)
[ "$(id -u)" = 0 ] || skip 'for root'
chmod 755 "$ORGANFS_TEST_DIR" "$TMP"
mkdir -p "$TMP/others/mnt" "$TMP/user/above/mnt"
chown -R "$nobody:$group" "$TMP/user"
mount -t tmpfs roots "$TMP/others/mnt" || skip 'no tmpfs can be mounted'
python3 "$here/../tools/liar.py" "$TMP/user/above/mnt" "$nobody" "$group" '' >"$TMP/ready" 2>&1 &
liar=$!
clean_up() {
	umount -l "$TMP/user/moved/mnt" "$TMP/user/above/mnt" "$TMP/others/mnt" 2>/dev/null || true
}
trap clean_up EXIT
until_true 60 grep -q ready "$TMP/ready" || late "no mount: $(cat "$TMP/ready")"

"$HELPER" "$TMP/user/above/mnt" >"$TMP/said" 2>&1 &
helper=$!
asks() {
	[ -n "$(children_of $helper)" ]
}
until_true 60 asks || late 'its daemon is not asked'
setpriv --reuid "$nobody" --regid "$group" --clear-groups \
	sh -c "cd '$TMP/user' && mv above moved && ln -s '$TMP/others' above"
status=0
wait $helper || status=$?
equal $status 32 "$(cat "$TMP/said")"
grep -q 'another mount is there now' "$TMP/said" || fail "$(cat "$TMP/said")"
mountpoint -q "$TMP/others/mnt" || fail 'another mount was taken away'
kill -0 $liar || fail 'the mount itself is gone'

# The new path unmounts it.
umount_says 0 "cannot be asked" timeout 60 "$HELPER" -f "$TMP/user/moved/mnt"
wait $liar || fail "liar.py: $(cat "$TMP/ready")"
mountpoint -q "$TMP/others/mnt" || fail 'another mount was taken away'

#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The daemon of an ended mount does not remove the utab entry of the next mount at the same place,
# however long umount(8) takes to remove its own.
. "${0%/*}/../lib.sh"

with_mount_helper
base=$(use stories260K)
umount=$(readlink -f /bin/umount)
cp "$umount" "$TMP/umount"
cat >"$TMP/slow" <<END
#!/bin/sh
: >"$TMP/removing"
while [ -e "$TMP/removing" ]; do sleep 0.02; done
exec "$TMP/umount" "\$@"
END
chmod 755 "$TMP/slow"
mount --bind "$TMP/slow" "$umount"

organfs -o ro,pidfile="$TMP/first" "$base" "$MNT"
first=$(cat "$TMP/first")
"$TMP/umount" -i "$MNT" # this removes the entry itself
until_true 60 test -e "$TMP/removing" || fail 'the entry is not removed'
organfs -o ro "$base" "$MNT" &
# The mount is made and waits for the first one, or its entry is made too.
is_beyond_mount() {
	is_mounted_at "$MNT" && { is_gone $! || grep -q nanosleep "/proc/$!/wchan"; }
}
until_true 60 is_beyond_mount || late 'no second mount'
rm "$TMP/removing"
wait $! || fail 'no second mount'
until_true 60 is_gone "$first" || fail 'two daemons'
grep -q " TARGET=$MNT .*OPTS=x-organfs.waits" /run/mount/utab || fail 'the entry is gone'
"$TMP/umount" "$umount"
umount "$MNT"

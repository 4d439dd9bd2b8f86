#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# release: needs a desktop
# plain: tests programs of others
# organfs-open finds a mount while other processes unmount entries before it in the kernel's list.
. "${0%/*}/../lib.sh"
need_root
if [ -z "${ORGANFS_TEST_NAMESPACE-}" ]; then
	unshare -m true 2>/dev/null || skip 'no namespaces of mounts here'
	ORGANFS_TEST_NAMESPACE=1 exec unshare -m "$0"
fi

export HOME=$TMP/home ORGANFS_OPENER=true
unset DISPLAY WAYLAND_DISPLAY
helpers=$(readlink -f "$here/../../mount-helpers")
ln -s "$UMOUNT" "$TMP/organfs-umount"
export PATH=$TMP:$PATH
base=$(use stories260K)
mkdir "$HOME" "$TMP"/others-{1..200}
for other in "$TMP"/others-*; do
	mount -t tmpfs none "$other"
done
"$helpers/organfs-open" "$base" >"$TMP/first"
for other in "$TMP"/others-*; do
	umount "$other"
done &
while kill -0 $! 2>/dev/null; do
	equal "$("$helpers/organfs-open" "$base")" "$HOME/organfs-mounts/stories260K"
done
"$helpers/organfs-open" -u >/dev/null || fail 'it cannot be unmounted'

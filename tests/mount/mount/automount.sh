#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# A model is mounted on an automount point when a process enters it, as with systemd's
# x-systemd.automount: organfs does not wait for the automounter, which waits for the mount.
. "${0%/*}/../lib.sh"

need_root
grep -qw autofs /proc/filesystems || skip 'no autofs in this kernel'
if [ -z "${ORGANFS_TEST_NAMESPACE-}" ]; then
	unshare -m true 2>/dev/null || skip 'no namespaces of mounts here'
	ORGANFS_TEST_NAMESPACE=1 exec unshare -m "$0"
fi
base=$(use stories260K)

# The automounter: only its process group passes (autofs(5) of the kernel's documentation; a packet
# of version 5 has its kind and its token behind the version).
cat >"$TMP/automount.py" <<'END'
import ctypes, fcntl, os, struct, subprocess, sys
point, command = sys.argv[1], sys.argv[2:]
READY, FAIL = 0x9360, 0x9361
readable, writable = os.pipe()
libc = ctypes.CDLL(None, use_errno=True)
data = f"fd={writable},pgrp={os.getpgrp()},minproto=5,maxproto=5,direct"
if libc.mount(b"automount", point.encode(), b"autofs", 0, data.encode()) != 0:
    sys.exit(77)
os.close(writable)
root = os.open(point, os.O_RDONLY)
print("ready", flush=True)
packet = os.read(readable, 304)
kind, token = struct.unpack_from("=iI", packet, 4)
status = subprocess.call(command, stdin=subprocess.DEVNULL)
print("status", status, flush=True)
fcntl.ioctl(root, READY if status == 0 else FAIL, token)
END

automount() {
	rm -f "$TMP/automounter"
	setsid python3 "$TMP/automount.py" "$MNT" "$@" >"$TMP/automounter" 2>&1 &
	automounter=$!
	until_true 20 grep -q ready "$TMP/automounter" ||
		skip "autofs cannot be mounted: $(tail -n 1 "$TMP/automounter")"
}
trap 'umount -l "$MNT" 2>/dev/null || true; umount -l "$MNT" 2>/dev/null || true' EXIT

for options in ro noassemble; do
	automount "$ORGANFS" -o $options "$base" "$MNT"
	in_time 20 cmp "$MNT/model.gguf" "$base" || fail "$(cat "$TMP/automounter")"
	wait $automounter || fail "$(cat "$TMP/automounter")"
	grep -q 'status 0' "$TMP/automounter" || fail "$(cat "$TMP/automounter")"
	# A second mount there is refused, as anywhere.
	expect_fail 'mounted there already' "$ORGANFS" -o ro "$base" "$MNT"
	unmount_and_wait
	umount "$MNT"
done

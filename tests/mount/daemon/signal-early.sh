#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# A signal between the mount and the first request unmounts like a later one, and leaves no mount
# without a daemon. mount(8) extends that time, because it writes utab.
. "${0%/*}/../lib.sh"

need_root
need unshare
if [ -z "${ORGANFS_TEST_NAMESPACE-}" ]; then
	unshare -m true 2>/dev/null || skip 'no namespaces of mounts here'
	ORGANFS_TEST_NAMESPACE=1 exec unshare -m --propagation private "$0"
fi

base=$(use stories260K)
cat >"$TMP/mount" <<END
#!/bin/sh
: >"$TMP/entering"
while [ -e "$TMP/entering" ]; do sleep 0.02; done
END
chmod 755 "$TMP/mount"
mount --bind "$TMP/mount" "$(readlink -f /bin/mount)"

for signal in TERM INT; do
	# A background job of a shell ignores SIGINT.
	env --default-signal=INT "$ORGANFS" -f "$base" "$MNT" >"$LOGS/early" 2>&1 </dev/null &
	pid=$!
	until_true 60 test -e "$TMP/entering" || late "mount(8) is not run: $(cat "$LOGS/early")"
	grep -q " $MNT " /proc/self/mountinfo || fail 'nothing is mounted yet'
	kill "-$signal" "$pid"
	rm "$TMP/entering"
	status=0
	wait "$pid" || status=$?
	equal $status 0 "exit status after SIG$signal: $(cat "$LOGS/early")"
	! grep -q " $MNT " /proc/self/mountinfo || fail "SIG$signal leaves a mount"
done

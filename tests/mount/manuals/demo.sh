#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# plain: commands are scripts
# The demonstration finishes, even if the daemon stays a zombie because process 1 does not wait for
# it, and leaves nothing.
. "${0%/*}/../lib.sh"

need unshare xxd getfattr
demo=$here/../demo

"$demo" >"$TMP/said" 2>&1 </dev/null || fail "$(tail -n 5 "$TMP/said")"
grep -q '^untouched$' "$TMP/said" || fail "$(tail -n 5 "$TMP/said")"
rm "$TMP/said"
no_litter "$TMP"

need_root
# Without /dev/fuse the demonstration shows the parts that need no mount.
mkdir "$TMP/dev"
cp -a /dev/null /dev/zero /dev/urandom "$TMP/dev"
ln -s /proc/self/fd "$TMP/dev/fd"
unshare --mount sh -c 'mount --bind "$1" /dev && exec "$2"' - "$TMP/dev" "$demo" >"$TMP/said" 2>&1 \
	</dev/null || fail "without /dev/fuse: $(tail -n 5 "$TMP/said")"
grep -q '^the same$' "$TMP/said" || fail "$(tail -n 5 "$TMP/said")"
rm -r "$TMP/said" "$TMP/dev"
no_litter "$TMP"

unshare --pid --mount --fork true 2>/dev/null || skip 'no namespaces here'
# This process waits only for its child.
cat >"$TMP/first.py" <<'END'
import os, sys
child = os.spawnv(os.P_NOWAIT, sys.argv[1], sys.argv[1:])
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
END
in_time 60 unshare --pid --mount-proc --fork --kill-child \
	python3 "$TMP/first.py" "$demo" >"$TMP/said" 2>&1 </dev/null ||
	fail "exit status $? where nothing reaps: $(tail -n 5 "$TMP/said")"
grep -q '^untouched$' "$TMP/said" || fail "$(tail -n 5 "$TMP/said")"
rm "$TMP/said" "$TMP/first.py"
no_litter "$TMP"

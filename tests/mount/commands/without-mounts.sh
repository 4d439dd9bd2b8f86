#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# release: runs other tests
# plain: it runs other tests
# If root cannot mount, as in a container, the runner runs the tests that mount nothing, and its
# last line counts the others. It fails if every skip has to be expected.
. "${0%/*}/../lib.sh"

need_root
need setpriv
# The runner writes durations into its own tree.
mkdir -p tree/build
ln -s "$here/.." tree/tests
run_without_mounts() {
	setpriv --bounding-set -sys_admin env -u ORGANFS_OWN_MOUNTS -u ORGANFS_FAILURES "$@" \
		tree/tests/mount/run >said 2>&1
}
run_without_mounts EXPECTED_SKIPS= || fail "exit $?: $(tail -n 20 said)"
grep -q '^ok    hostile/malformed-reject ' said || fail "not run: $(cat said)"
tail -n 1 said |
	grep -Eqx '[0-9]{3} mount tests were not run: root cannot mount .*--device /dev/fuse\)' ||
	fail "the last line is $(tail -n 1 said)"
status=0
run_without_mounts EXPECTED_SKIPS="$here/expected-skips" || status=$?
equal $status 1 "$(cat said)"

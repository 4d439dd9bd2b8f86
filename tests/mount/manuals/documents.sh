#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# plain: commands are scripts
# release: runs every command of the manuals, with all of their tools
# Every command in README.md and the manual pages works as shown, with the shown output.
# tests/tools/documents.py describes how it finds them and their hidden preparations.
# timeout: 120
. "${0%/*}/../lib.sh"

need python3 file getfattr xxhsum jq parallel rsync zstd ip lighttpd curl rclone rsvg-convert
[ -e /usr/lib/lighttpd/mod_webdav.so ] || skip 'no mod_webdav of lighttpd'
python3=$(PATH=/usr/bin:$PATH command -v python3)
"$python3" -c 'import numpy' 2>/dev/null || skip 'no python3-numpy'
with_mount_helper
unshare -n true 2>/dev/null || skip 'no namespaces of networks here'

# Commands that cannot run here: document, beginning of the command, reason.
cat >"$TMP/exceptions" <<'END'
README.md	sudo make	builds, installs and tests, which others try
README.md	make	the same
organ-serve.1	htpasswd	asks for a password
organ-serve.1	organ-serve --listen	needs a certificate
organ-serve.1	curl -u	needs another machine
organ-stream.1	for n in 1 2 3; do echo https:	makes the list for the next
organ-stream.1	organ-stream list table.tsv	needs a server
organ-stream.1	organfs --report table.tsv	reports what that fetched
organ-stream.1	parallel --sshloginfile	needs other machines
END

# sudo is already root, and there is no desktop.
check() {
	MODELS=$MODELS PATH=$TMP/programs:$PATH USER=root ORGANFS_OPENER=true \
		"$here/../tools/documents.py" "$@"
}

root=$(cd "$here/../.." && pwd)
mkdir "$TMP/programs" "$TMP/run"
ln -s "$ORGANFS" "$TMP/programs/organfs"
ln -s "$HELPER" "$TMP/programs/organfs-umount"
ln -s "$python3" "$TMP/programs/python3"
for program in "$root"/mount-helpers/organ*; do
	[ ! -x "$program" ] || ln -s "$program" "$TMP/programs/"
done
printf '#!/bin/sh\nexec "$@"\n' >"$TMP/programs/sudo"
chmod +x "$TMP/programs/sudo"
cd "$TMP/run"

# documents.py notices errors.
: >"$TMP/none"
echo 'right.md	wrong	it is not there' >"$TMP/unused"
printf '%s\n' '    echo right' '' 'and' '' '    $ echo one; false' '    one' >"$TMP/right.md"
printf '%s\n' '    true' '    false' >"$TMP/status.md"
printf '%s\n' '    $ echo one' '    two' >"$TMP/output.md"
printf '%s\n' '.Bd -literal' '$ printf \(aqa\en\(aq' b '.Ed' >"$TMP/output.5"
printf '%s\n' '    # comment' '    $ true' '' '| effect | command |' '| --- | --- |' \
	'| `no` | `false` |' >"$TMP/table.md"
check "$TMP/none" "$TMP/right.md" >"$TMP/said" || fail "$(cat "$TMP/said")"
expect_fail 'status.md:2: exit status 1' check "$TMP/none" "$TMP/status.md"
expect_fail 'output.md:1: prints something else' check "$TMP/none" "$TMP/output.md"
expect_fail 'table.md:6: exit status 1' check "$TMP/none" "$TMP/table.md"
expect_fail 'output.5:2: prints something else' check "$TMP/none" "$TMP/output.5"
expect_fail 'right.md does not have what is excepted: wrong' check "$TMP/unused" "$TMP/right.md"

check "$TMP/exceptions" "$root/README.md" "$root"/mount-helpers/*.[1578] >"$TMP/said" ||
	fail "$(cat "$TMP/said")"
tail -n 1 "$TMP/said"

#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Exit codes, a mount point that organfs makes and removes, options from fstab.
. "${0%/*}/../lib.sh"

base=$(use stories260K)
exit_of() {
	local status=0
	"$@" >"$TMP/out" 2>"$TMP/errors" </dev/null || status=$?
	echo $status
}

equal "$(exit_of "$ORGANFS")" 2 'without arguments'
equal "$(exit_of "$ORGANFS" "$base")" 2 'without a mount point'
equal "$(exit_of "$ORGANFS" -o nonsense "$base" "$MNT")" 2 'an unknown option'
equal "$(exit_of "$ORGANFS" -o nonsense=3 "$base" "$MNT")" 2 'an unknown option'
equal "$(exit_of "$ORGANFS" -o threads=many "$base" "$MNT")" 2 'a bad number'
equal "$(exit_of "$ORGANFS" -o shape=odd "$base" "$MNT")" 2 'a bad word'
equal "$(exit_of "$ORGANFS" -o umask=9 "$base" "$MNT")" 2 'a bad mask'
equal "$(exit_of "$ORGANFS" --nonsense "$base" "$MNT")" 2 'an unknown flag'
[ -s "$TMP/errors" ] || fail 'bad usage without a word'
equal "$(exit_of "$ORGANFS" "$TMP/none.gguf" "$MNT")" 1 'no such model'
equal "$(exit_of "$ORGANFS" "$base" "$base")" 1 'a mount point that is a file'
equal "$(exit_of "$ORGANFS" "$base" "$TMP/none/mnt")" 1 'a mount point in no directory'
equal "$(wc -l <"$TMP/errors")" 1 'lines of a refusal'
[ ! -e /dev/full ] || expect_fail 'No space left' sh -c '"$1" --help >/dev/full' - "$ORGANFS"
if command -v strace >/dev/null; then
	expect_fail '^organfs: /dev/null: permission denied' env ASAN_OPTIONS=detect_leaks=0 \
		strace -qq -o "$TMP/calls" -P /dev/null -e inject=openat:error=EACCES "$ORGANFS" \
		--version
fi
equal "$(exit_of "$ORGANFS" '' "$MNT")" 2 'an empty argument'
mkdir "$TMP/broken"
cp "$MALFORMED/magic-lfs.gguf" "$TMP/broken/x.gguf"
expect_fail 'broken: no model .*: x.gguf: .*Git LFS' "$ORGANFS" "$TMP/broken" "$MNT"
expect_fail 'none: .*output= must name an existing directory' \
	"$ORGANFS" -o output="$TMP/none" "$base" "$base" "$MNT"
ln -s loop "$TMP/loop"
expect_fail 'loop: .*symbolic links' "$ORGANFS" -o output="$TMP/loop" "$base" "$base" "$MNT"
equal "$(exit_of "$ORGANFS" --help)" 0 help
grep -q 'man organfs' "$TMP/out" || fail '--help names no manual'
equal "$(exit_of "$ORGANFS" --version)" 0 version
! mountpoint -q "$MNT" || fail 'mounted'

# organfs makes the mount point and removes it; an existing one stays.
mount_daemon "$base" "$TMP/made"
unmount_and_wait "$TMP/made"
absent "$TMP/made"
mount_daemon "$base" "$MNT"
unmount_and_wait
exists "$MNT"
expect_fail 'organfs: ' "$ORGANFS" "$MALFORMED/magic-lfs.gguf" "$TMP/made"
absent "$TMP/made"

# The user reads on the terminal that shards are missing.
cp "$MODELS/stories260K-split-00001-of-00003.gguf" "$TMP"
equal "$(exit_of "$ORGANFS" "$TMP/stories260K-split-00001-of-00003.gguf" "$MNT")" 0 'shards'
DAEMON[$MNT]=$(daemon_of "$MNT")
equal "$(grep -c 'the model lacks .*-00002-of-00003.gguf' "$TMP/errors")" 1 "$(cat "$TMP/errors")"
unmount_and_wait

# Relative paths, and options from mount(8) and fstab, are accepted.
cp "$base" "$TMP/rel.gguf"
"$ORGANFS" rel.gguf relmnt -o rw,nosuid,nodev,noatime,x-systemd.automount,x-gvfs-show ||
	fail 'options of fstab'
same relmnt/model.gguf "$base"
equal "$(getfattr --only-values -n user.organfs.extent relmnt/embed/token_embd.bin |
	cut -d : -f 1)" "$TMP/rel.gguf" 'path in the extent'
unmount_and_wait relmnt
absent relmnt
! grep -q "$TMP" /proc/mounts || fail 'something is left mounted'

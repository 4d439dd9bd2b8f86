#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# stat shows uid=, gid= and umask=; another user has access only with allow_other.
. "${0%/*}/../lib.sh"

need_root
need setpriv
base=$(use stories260K)
# The directories may be root's alone, if a developer tests as root.
chmod 755 "$ORGANFS_TEST_DIR" "$TMP"
other() {
	setpriv --reuid 12345 --regid 12345 --clear-groups "$@"
}
other test -x "$TMP" || skip "$TMP is closed to other users"

mount_model "$base"
equal "$(stat -c %a "$MNT/organs/blk_0_ffn_up.bin")" 644 'mode of an organ'
equal "$(stat -c %a "$MNT/organs")" 755 'mode of a class'
equal "$(stat -c %u:%g "$MNT/organs/blk_0_ffn_up.bin")" "$(id -u):$(id -g)" 'owner'
! other ls "$MNT" >/dev/null 2>&1 || fail 'another user gets in'
unmount_and_wait

mount_model -o uid=12345,gid=54321,umask=027,allow_other "$base"
equal "$(stat -c %u:%g "$MNT/organs/blk_0_ffn_up.bin")" 12345:54321 'owner'
equal "$(stat -c %a "$MNT/organs/blk_0_ffn_up.bin")" 640 'mode of an organ'
equal "$(stat -c %a "$MNT/organs")" 750 'mode of a class'
other cat "$MNT/organs/blk_0_ffn_up.bin" >"$TMP/read"
"$GGUF" organ "$base" blk.0.ffn_up.weight "$TMP/expected"
same "$TMP/read" "$TMP/expected"
! setpriv --reuid 4444 --regid 4444 --clear-groups cat "$MNT/model.gguf" >/dev/null 2>&1 ||
	fail 'the mode is not respected'
unmount_and_wait

# A file that another user may not write is not written on that user's behalf.
mkdir "$TMP/locked"
mount_model -o allow_other,umask=0 "$base"
! other sh -c "echo '$TMP/locked/x.gguf' >'$MNT/.assemble'" 2>/dev/null ||
	fail 'assembled with rights that the writer does not have'
absent "$TMP/locked/x.gguf"
unmount_and_wait

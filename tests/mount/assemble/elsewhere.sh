#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Targets on other filesystems, writable, read-only and without files, and in a directory without
# write permission.
. "${0%/*}/../lib.sh"

need_root
base=$(use stories260K)
mkdir "$TMP/other" "$TMP/read-only"
mount -t tmpfs tmpfs "$TMP/other" || skip 'no tmpfs'
mount -t tmpfs tmpfs "$TMP/read-only"
trap 'umount -l "$TMP/other" "$TMP/read-only"' EXIT
echo old >"$TMP/read-only/old.gguf"
mount -o remount,ro "$TMP/read-only"
mount_model "$base"
to() {
	bash -c 'echo "$1" >"$2"' - "$1" "$MNT/.assemble"
}

to "$TMP/other/new.gguf"
same "$TMP/other/new.gguf" "$base"
equal "$(ls -A "$TMP/other")" new.gguf 'on the other filesystem'
for name in new old; do
	expect_fail 'read-only' to "!$TMP/read-only/$name.gguf"
	assembly_says "failed: .*/$name\.gguf: .*read-only"
done
equal "$(cat "$TMP/read-only/old.gguf")" old
equal "$(ls -A "$TMP/read-only")" old.gguf
expect_fail 'not permitted|denied|no such|invalid' to /proc/new.gguf
# /sys is read-only in a container.
expect_fail 'not permitted|denied|no such|invalid|read-only' to /sys/new.gguf
unmount_and_wait

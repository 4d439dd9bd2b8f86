#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# mount(8) mounts a URL, even one that need not exist.
. "${0%/*}/../lib.sh"

need_root
with_mount_helper
mkdir "$TMP/www"
cp "$MODELS/scribe-Q4_K_M.gguf" "$TMP/www/scribe.gguf"
serve_ranges
mount -t organfs -o ro,nofail "$URL/good/scribe.gguf" "$MNT"
same "$MNT/model.gguf" "$TMP/www/scribe.gguf"
equal "$(findmnt -n -o SOURCE "$MNT")" "$URL/good/scribe.gguf" 'the source of the mount'
umount "$MNT"
! mountpoint -q "$MNT" || fail 'it is mounted yet'
end_server

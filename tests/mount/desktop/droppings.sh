#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Files that desktops leave everywhere cannot be made, nor any other file outside of slots.
. "${0%/*}/../lib.sh"

base=$(use stories260K)
mount_model "$base"
list() {
	find "$MNT" | sort
}
list >"$TMP/before"
for name in .Trash .Trash-0 .DS_Store .directory desktop.ini Thumbs.db; do
	for directory in "$MNT" "$MNT/organs"; do
		absent "$directory/$name"
		! mkdir "$directory/$name" 2>/dev/null || fail "made $directory/$name"
		! touch "$directory/$name" 2>/dev/null || fail "touched $directory/$name"
	done
done
! mkdir "$MNT/organs/directory" 2>/dev/null || fail 'made a directory'
! mknod "$MNT/organs/pipe" p 2>/dev/null || fail 'made a pipe'
! rmdir "$MNT/organs" 2>/dev/null || fail 'removed a class'
! mv "$MNT/organs" "$MNT/elsewhere" 2>/dev/null || fail 'moved a class'
! rm -f "$MNT/manifest.json" 2>/dev/null || fail 'removed the manifest'
for file in manifest.json model.gguf .grafts; do
	before=$(checksum "$MNT/$file")
	echo x >"$MNT/$file"
	equal "$(checksum "$MNT/$file")" "$before" "$file after a write"
done
! rm -f "$MNT/model.gguf" 2>/dev/null || fail 'removed the model'
list | diff "$TMP/before" - || fail 'the tree changed'
same "$MNT/model.gguf" "$base"
unmount_and_wait
absent "$TMP/stories260K.grafted.gguf"

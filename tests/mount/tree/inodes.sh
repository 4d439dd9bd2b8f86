#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Inode numbers are unique, the same in listings and by stat, and stable.
. "${0%/*}/../lib.sh"

base=$(use stories260K)
mount_model "$base"
list() {
	find "$MNT" -printf '%i %p\n' | sort -k 2
}

list >"$TMP/before"
equal "$(cut -d ' ' -f 1 "$TMP/before" | sort -u | wc -l)" "$(wc -l <"$TMP/before")" 'numbers'
python3 - "$MNT" <<'END'
import os, sys
for directory, _, _ in os.walk(sys.argv[1]):
    for entry in os.scandir(directory):
        assert entry.inode() == os.lstat(entry.path).st_ino, entry.path
END
cat "$MNT"/*/*.bin "$MNT/model.gguf" >/dev/null
ls -lR "$MNT" >/dev/null
list | cmp - "$TMP/before" || fail 'numbers changed without a graft'

# A graft changes the inode number of its slot and of files made from it, and no other organ's.
"$GGUF" organ "$MODELS/stories260K-donor.gguf" blk.1.ffn_up.weight "$TMP/organ.bin"
cp "$TMP/organ.bin" "$MNT/organs/blk_1_ffn_up.bin"
list >"$TMP/after"
changed=$(diff "$TMP/before" "$TMP/after" | sed -n 's/^> [0-9]* //p' | grep '\.bin$' || true)
equal "$changed" "$MNT/organs/blk_1_ffn_up.bin" 'organs with another number'
list | cmp - "$TMP/after" || fail 'numbers changed without a graft'
unmount_and_wait

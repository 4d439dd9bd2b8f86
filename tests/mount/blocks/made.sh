#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Directories that are made in blocks: as often as their blocks come and go, by programs that open
# with O_EXCL, and by others.
. "${0%/*}/../lib.sh"

base=$(use scribe-Q4_K_M) donor=$(use clerk-Q4_K_M)
mkdir "$TMP/donor"
mount_model -o noassemble "$base"
mount_model -o ro "$donor" "$TMP/donor"
cd "$TMP"
blocks=$MNT/blocks

# What cp -r made in a directory that is gone is new again.
for turn in 1 2; do
	cp -r donor/blocks/1 "$blocks/6" || fail "turn $turn"
	rm -r "$blocks/6"
done
cp -r donor/blocks/1 "$blocks/2"
rmdir "$blocks/2/1"
cp -r donor/blocks/1 "$blocks/2"
rmdir "$blocks/2/1"
echo all >"$MNT/.undo"
unmount_and_wait "$TMP/donor"
unmount_and_wait

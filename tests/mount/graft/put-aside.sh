#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# A graft by reference or link that was renamed to a private name comes back by mv, for any
# content of the slot meanwhile.
. "${0%/*}/../lib.sh"

mkdir "$TMP/models"
cp "$(use stories260K)" "$TMP/models/base.gguf"
cp "$(use stories260K-donor)" "$TMP/models/donor.gguf"
mount_model -o noassemble "$TMP/models"
organ=organs/blk_1_ffn_up.bin
own=$MNT/base/$organ
donors=$MNT/donor/$organ

by_reference() {
	cp "$donors" "$own"
}
by_link() {
	ln -sf "$donors" "$own"
}
back_by_cp() {
	cp --remove-destination "$MNT/base/.base/$organ" "$own"
}
back_by_undo() {
	echo "$organ" >"$MNT/base/.undo"
}
other() {
	cp --remove-destination "$MNT/donor/organs/blk_2_ffn_up.bin" "$own"
}
removed() {
	rm "$own"
}

for graft in by_reference by_link; do
	for aside in 'cp -P' ln; do
		for meanwhile in back_by_cp back_by_undo other removed; do
			what="$graft, $aside, $meanwhile"
			$graft
			$aside "$own" "$MNT/base/organs/aside.tmp" || fail "$what"
			before=$(cut -f 2,8,9 "$MNT/base/.grafts")
			$meanwhile
			mv -f "$MNT/base/organs/aside.tmp" "$own" || fail "$what"
			equal "$(cut -f 2,8,9 "$MNT/base/.grafts")" "$before" "$what"
			cmp "$own" "$donors" || fail "$what"
			echo all >"$MNT/base/.undo"
			rm -f "$MNT/base/organs/aside.tmp"
		done
	done
done
unmount_and_wait "$MNT"

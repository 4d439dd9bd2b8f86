#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# A copy that another model of the mount shares keeps its donor there, even the first model's base,
# at once and after a remount.
. "${0%/*}/../lib.sh"

mkdir "$TMP/models"
cp "$(use stories260K)" "$TMP/models/base.gguf"
cp "$(use stories260K-donor)" "$TMP/models/other.gguf"
organ=organs/blk_1_ffn_up.bin

known() {
	equal "$(cut -f 1,2,8,9 "$MNT/other/.grafts")" \
		"$organ	copy	$TMP/models/base.gguf	blk.1.ffn_up.weight" "$1"
	grep -q 'view: types/q8_0' "$MNT/other/.recipe" || fail "$1: $(cat "$MNT/other/.recipe")"
}

mount_model -o noassemble "$TMP/models"
cp "$MNT/base/.views/types/q8_0/$organ" "$MNT/base/$organ"
cp "$MNT/base/$organ" "$MNT/other/$organ"
known 'at once'
unmount_and_wait
mount_model -o noassemble "$TMP/models"
known 'after a remount'
unmount_and_wait

#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# cp -a, tar and rsync copy a tree without a warning, and completely.
. "${0%/*}/../lib.sh"

need tar rsync
base=$(use stories260K)
mount_model "$base"
quietly() {
	"$@" >"$TMP/.said" 2>&1 || fail "$*: $(cat "$TMP/.said")"
	[ ! -s "$TMP/.said" ] || fail "$* says: $(cat "$TMP/.said")"
}

quietly cp -a "$MNT" "$TMP/by-cp"
quietly diff -r "$MNT" "$TMP/by-cp"
mkdir "$TMP/by-tar" "$TMP/by-rsync"
quietly tar -C "$MNT" -cf "$TMP/tree.tar" .
quietly tar -C "$TMP/by-tar" -xf "$TMP/tree.tar"
quietly diff -r "$MNT" "$TMP/by-tar"
quietly rsync -a "$MNT/" "$TMP/by-rsync/"
quietly diff -r "$MNT" "$TMP/by-rsync"
# A second run finds nothing to do.
equal "$(rsync -ai "$MNT/" "$TMP/by-rsync/")" '' 'files that rsync would copy again'
equal "$(stat -c %y "$TMP/by-cp/organs/blk_0_ffn_up.bin")" \
	"$(stat -c %y "$MNT/organs/blk_0_ffn_up.bin")" 'time of a copy'
unmount_and_wait
absent "$TMP/stories260K.grafted.gguf"

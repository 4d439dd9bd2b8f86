#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Programs that find holes by the number of blocks copy every byte of every file in a mount,
# unlisted ones included.
. "${0%/*}/../lib.sh"

need tar rsync
base=$(use stories260K)
mount_model -o views=listed,noassemble "$base"
cp "$MNT/organs/blk_1_ffn_up.bin" "$MNT/organs/blk_2_ffn_up.bin"

# The log changes during the copy.
(cd "$MNT" && find . -type f -size +0 ! -name .log) >"$TMP/files"
[ "$(wc -l <"$TMP/files")" -gt 300 ] || fail "only $(wc -l <"$TMP/files") files"
grep -qx './.views/npy/organs/blk_0_ffn_up.npy' "$TMP/files" || fail 'no views'
grep -qx './.base/organs/blk_0_ffn_up.bin' "$TMP/files" || fail 'no base'
(cd "$MNT" && xargs -d '\n' sha256sum) <"$TMP/files" >"$TMP/sums"

# copied TOOL: the copy below $TMP/TOOL has the mount's content.
copied() {
	(cd "$TMP/$1" && sha256sum --quiet -c "$TMP/sums") >"$TMP/.said" 2>&1 ||
		fail "$1: $(head -n 5 "$TMP/.said")"
	rm -rf "${TMP:?}/$1"
}

mkdir "$TMP/tar" "$TMP/cp" "$TMP/rsync"
tar -C "$MNT" --sparse -cf "$TMP/tree.tar" -T "$TMP/files"
tar -C "$TMP/tar" -xf "$TMP/tree.tar"
copied tar
(cd "$MNT" && xargs -d '\n' cp --sparse=auto --parents -t "$TMP/cp") <"$TMP/files"
copied cp
rsync -aS --files-from="$TMP/files" "$MNT" "$TMP/rsync"
copied rsync
if command -v bsdtar >/dev/null; then
	mkdir "$TMP/bsdtar"
	bsdtar -C "$MNT" -cf "$TMP/tree.tar" -T "$TMP/files"
	bsdtar -C "$TMP/bsdtar" -xf "$TMP/tree.tar"
	copied bsdtar
fi
# The program has another name on Debian 12 than later.
if z=$(command -v 7z || command -v 7zz); then
	rm -f "$TMP/tree.7z"
	(cd "$MNT" && "$z" a -bd -mx=1 '-xr!.log' "$TMP/tree.7z" .) >"$TMP/.said" ||
		fail "7z: $(tail -n 5 "$TMP/.said")"
	mkdir "$TMP/7z"
	(cd "$TMP/7z" && "$z" x -bd -y "$TMP/tree.7z") >"$TMP/.said" ||
		fail "7z: $(tail -n 5 "$TMP/.said")"
	copied 7z
fi

# Every nonempty file has blocks, and a model is still counted once.
find "$MNT" -type f -size +0 -printf '%b %p\n' | grep '^0 ' >"$TMP/.said" &&
	fail "without blocks: $(cat "$TMP/.said")"
equal "$(stat -c %b "$MNT/model.gguf")" 1 'blocks of model.gguf'
unmount_and_wait

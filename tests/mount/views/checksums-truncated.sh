#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# A hash of unreadable content is an error and never a line; earlier hashes stay.
. "${0%/*}/../lib.sh"

need getfattr
base=$(use scribe-Q4_K_M)
donor=$(use clerk-Q4_K_M)
mkdir "$TMP/donor"
mount_model -o ro "$donor" "$TMP/donor"
cp "$TMP/donor/organs/blk_2_ffn_up.bin" "$TMP/linked.bin"
unmount_and_wait "$TMP/donor"

# The file of a link is gone.
mount_model -o noassemble "$base"
cat "$MNT/checksums.xxh128" >"$TMP/whole"
cat "$MNT/.views/gguf-hash.xxh64" >"$TMP/whole64"
ln -sf "$TMP/linked.bin" "$MNT/organs/blk_2_ffn_up.bin"
rm "$TMP/linked.bin"
at=$(grep -b organs/blk_2_ffn_up.bin "$TMP/whole" | cut -d : -f 1)
expect_fail 'Input/output error' cat "$MNT/checksums.xxh128"
expect_fail 'Input/output error' cat "$MNT/.views/gguf-hash.xxh64"
same <(head -c "$at" "$MNT/checksums.xxh128") <(head -c "$at" "$TMP/whole")
expect_fail 'Input/output error' head -c $((at + 1)) "$MNT/checksums.xxh128"
same <(tail -c +$((at + 33)) "$MNT/checksums.xxh128") <(tail -c +$((at + 33)) "$TMP/whole")
expect_fail 'Input/output error' tail -c 20 "$MNT/.views/gguf-hash.xxh64"
unmount_and_wait
rm -r "$XDG_STATE_HOME"

# The base was truncated during the mount.
mount_model -o ro "$base"
head -c 34 "$MNT/checksums.xxh128" >"$TMP/known"
truncate -s -1M "$base"
equal "$(head -c 34 "$MNT/checksums.xxh128")" "$(cat "$TMP/known")"
expect_fail 'Input/output error' cat "$MNT/checksums.xxh128"
expect_fail 'Input/output error' cat "$MNT/.views/gguf-hash.xxh64"
expect_fail 'Input/output error' getfattr -n user.organfs.xxh128 "$MNT/organs/blk_5_ffn_up.bin"
expect_fail 'Input/output error' head -c 200 "$MNT/checksums.xxh128"
equal "$(head -c 34 "$MNT/checksums.xxh128")" "$(cat "$TMP/known")"
ls -lR "$MNT" >/dev/null
unmount_and_wait

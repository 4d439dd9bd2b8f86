#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# A limit on the size of files (RLIMIT_FSIZE): assemblies by .assemble, at unmount and by --pack
# fail with EFBIG. The daemon lives, the grafts are kept, and no file is left.
. "${0%/*}/../lib.sh"

need prlimit
base=$(use stories260K)
mkdir "$TMP/out"
"$GGUF" organ "$MODELS/stories260K-donor.gguf" blk.1.ffn_up.weight "$TMP/organ.bin"
mount_daemon -o "output=$TMP/out/new.gguf" "$base" "$MNT"
cp "$TMP/organ.bin" "$MNT/organs/blk_1_ffn_up.bin"
prlimit --pid "${DAEMON[$MNT]}" --fsize=300000:
expect_fail 'file too large' bash -c 'echo "$1" >"$2"' - "$TMP/out/new.gguf" "$MNT/.assemble"
assembly_says 'file too large'
same "$MNT/organs/blk_1_ffn_up.bin" "$TMP/organ.bin"
equal "$(ls -A "$TMP/out")" '' 'files after .assemble'
unmount_and_wait
equal "$(ls -A "$TMP/out")" '' 'files after the unmount'

mount_model -o noassemble "$base"
same "$MNT/organs/blk_1_ffn_up.bin" "$TMP/organ.bin"
cp -r "$MNT" "$TMP/tree"
unmount_and_wait
expect_fail 'file too large' prlimit --fsize=300000 \
	"$ORGANFS" --pack "$TMP/tree" "$TMP/out/packed.gguf"
equal "$(ls -A "$TMP/out")" '' 'files after --pack'

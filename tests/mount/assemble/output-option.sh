#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# output= is relative to the working directory of organfs, replaces a file, and needs a graft.
. "${0%/*}/../lib.sh"

base=$(use stories260K)
"$GGUF" organ "$MODELS/stories260K-donor.gguf" blk.0.ffn_up.weight "$TMP/organ.bin"
"$GGUF" splice "$base" "$MODELS/stories260K-donor.gguf" blk.0.ffn_up.weight "$TMP/expected"
mkdir "$TMP/elsewhere"
echo old >"$TMP/elsewhere/out.gguf"

cd "$TMP/elsewhere"
mount_daemon -o output=out.gguf "$base" "$MNT"
cd "$TMP"
unmount_and_wait
equal "$(cat "$TMP/elsewhere/out.gguf")" old

cd "$TMP/elsewhere"
mount_daemon -o output=out.gguf "$base" "$MNT"
cd "$TMP"
cp "$TMP/organ.bin" "$MNT/organs/blk_0_ffn_up.bin"
unmount_and_wait
same "$TMP/elsewhere/out.gguf" "$TMP/expected"
equal "$(ls -A "$TMP/elsewhere")" out.gguf
absent "$TMP/stories260K.grafted.gguf"

# output= refuses at once the base itself and a path in a missing directory; the grafts are kept.
for output in "$base" "$TMP/none/out.gguf"; do
	if "$ORGANFS" -o "output=$output" "$base" "$MNT" 2>/dev/null; then
		unmount_and_wait
		mount_daemon -o "output=$output" "$base" "$MNT"
		cp "$TMP/organ.bin" "$MNT/organs/blk_0_ffn_up.bin"
		unmount_and_wait
		same "$base" "$MODELS/stories260K.gguf"
		mount_model -o noassemble "$base"
		same "$MNT/organs/blk_0_ffn_up.bin" "$TMP/organ.bin"
		unmount_and_wait
		rm -rf "${XDG_STATE_HOME:?}"/*
	fi
done
same "$base" "$MODELS/stories260K.gguf"

# A name for shards lacks their size, or has a form that no program finds.
cd "$TMP/elsewhere"
for output in 'x-%05d-of-%05d.gguf' 'x-%05d-of-%05d.gguf split=4X' \
	'x%05d-of-%05d.gguf split=1M'; do
	expect_fail '^organfs: .*elsewhere/x.*: a name for shards (is followed by|has to end in)' \
		"$ORGANFS" -o "output=$output" "$base" "$MNT"
	! mountpoint -q "$MNT" || fail "mounted with output=$output"
done
expect_fail 'No such file' "$ORGANFS" -o "output=none/x-%05d-of-%05d.gguf split=1M" "$base" "$MNT"
mount_daemon -o 'output=x-%05d-of-%05d.gguf split=500K' "$base" "$MNT"
cp "$TMP/organ.bin" "$MNT/organs/blk_0_ffn_up.bin"
unmount_and_wait
exists "$TMP/elsewhere/x-00001-of-00003.gguf"
mount_model -o ro "$TMP/elsewhere/x-00001-of-00003.gguf"
same "$MNT/model.gguf" "$TMP/expected"
unmount_and_wait

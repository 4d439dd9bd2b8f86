#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Impossible targets: the write fails, .assemble explains the error, and nothing is harmed.
. "${0%/*}/../lib.sh"

base=$(use stories260K)
before=$(checksum "$base")
ln "$base" "$TMP/hard.gguf"
ln -s stories260K.gguf "$TMP/soft.gguf"
mkdir "$TMP/directory" "$TMP/donor"
mount_model "$base"
mount_model -o ro "$MODELS/stories260K-donor.gguf" "$TMP/donor"
descriptors=$(descriptors)

refuse() {
	echo "$2"
	expect_fail "$1" bash -c 'echo "$1" >"$2"' - "$2" "$MNT/.assemble"
	[ "$(wc -c <"$MNT/.assemble")" -gt 10 ] || fail '.assemble does not explain'
	equal "$(checksum "$base")" "$before" 'the base changed'
}

refuse 'invalid|not permitted|busy|denied' "$base"
refuse 'invalid|not permitted|busy|denied' "$TMP/hard.gguf"
refuse 'invalid|not permitted|busy|denied' "$TMP/soft.gguf"
(cd "$TMP" && refuse 'invalid|not permitted|busy|denied' stories260K.gguf)
refuse 'invalid|not permitted|busy|denied' "$MNT/x.gguf"
refuse 'invalid|not permitted|busy|denied' "$MNT/model.gguf"
refuse 'invalid|not permitted|busy|denied' "$MNT/organs/x.gguf"
(cd "$MNT/organs" && refuse 'invalid|not permitted|busy|denied' x.gguf)
refuse 'no such file|not a directory' "$TMP/none/x.gguf"
refuse 'not a directory' "$base/x.gguf"
refuse 'is a directory' "$TMP/directory"
refuse 'read.only|not permitted|invalid|denied|not supported|no such' "$TMP/donor/x.gguf"
refuse 'invalid|too long|large' "$TMP/$(printf 'x%.0s' $(seq 5000))"
[ -L "$TMP/soft.gguf" ] || fail 'the link is gone'

# After a dead link among these the next valid name works.
echo "$TMP/good.gguf" >"$MNT/.assemble"
same "$TMP/good.gguf" "$base"
no_leak "$descriptors"
equal "$(find "$TMP" -maxdepth 1 -name '.*' ! -path "$TMP")" '' 'hidden files'
no_litter "$TMP/directory"
unmount_and_wait
unmount_and_wait "$TMP/donor"

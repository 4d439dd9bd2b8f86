#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Models by symbolic links, as in a cache that names files by hash: shards are found by the names
# of the links, and references lead to them also at the next mount.
. "${0%/*}/../lib.sh"

blobs=$TMP/cache/blobs
shown=$TMP/cache/snapshots/1
mkdir -p "$blobs" "$shown"
keep() {
	local hash
	hash=$(sha256sum <"$MODELS/$1" | cut -c 1-64)
	cp "$MODELS/$1" "$blobs/$hash"
	ln -s "../../blobs/$hash" "$shown/$1"
}
for k in 1 2 3; do
	keep "stories260K-split-0000$k-of-00003.gguf"
done
keep stories260K-donor.gguf
keep stories260K-q8_0.gguf
mkdir "$TMP/layer"

mount_dir() {
	mount_model -o "layer=$TMP/layer" "$shown"
}
receiver=$MNT/stories260K-q8_0
mount_dir
cp "$MNT/stories260K-split/organs/blk_1_ffn_up.bin" "$receiver/organs/"
ln -f "$MNT/stories260K-donor/organs/blk_2_ffn_up.bin" "$receiver/organs/"
equal "$(layer_sql "$TMP/layer/stories260K-q8_0" 'SELECT class, name, kind FROM slot')" \
	$'organs|blk_1_ffn_up|reference\norgans|blk_2_ffn_up|reference'
want=$(checksum "$receiver/model.gguf")
unmount_and_wait

mount_dir
! grep broken "$receiver/.grafts" "$MNT/.log" || fail 'a reference is broken at the next mount'
equal "$(wc -l <"$receiver/.grafts")" 2
equal "$(checksum "$receiver/model.gguf")" "$want"
grep -qF "\"file\":\"$shown/stories260K-split-00001-of-00003.gguf\"" \
	"$MNT/stories260K-split/manifest.json" || fail 'the manifest has not the name of a shard'
unmount_and_wait

# The assembled model lies beside the link and is named after it.
mount_model "$shown/stories260K-donor.gguf"
rm "$MNT/organs/blk_2_ffn_up.bin"
unmount_and_wait
exists "$shown/stories260K-donor.grafted.gguf"
equal "$(ls "$blobs" | wc -l)" 5

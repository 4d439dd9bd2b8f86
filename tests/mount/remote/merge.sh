#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Models of a merge on a server: of a mounted configuration and of a merge that a later mount takes
# up, also after every connection was dropped; a mount without remote models opens none.
. "${0%/*}/../lib.sh"

mkdir "$TMP/www"
cp "$MODELS/scribe-Q4_K_M.gguf" "$TMP/www/scribe.gguf"
clerk=$(use clerk-Q4_K_M)
serve_ranges
# configuration SCRIBE CLERK: print a merge of them.
configuration() {
	printf 'merge_method: linear\nmodels:\n'
	printf -- '- {model: "%s", parameters: {weight: 0.5}}\n' "$@"
}
configuration "$TMP/www/scribe.gguf" "$clerk" >"$TMP/local.yml"
configuration "$URL/good/scribe.gguf" "$clerk" >"$TMP/form.yml"
configuration "$clerk" "$URL/good/scribe.gguf" >"$TMP/other.yml"

mount_model -o ro "$TMP/local.yml"
equal "$(stat -c %a "$MNT/.merge")" 644
merged=$(checksum "$MNT/organs/blk_2_ffn_up.bin")
unmount_and_wait
for config in form other; do
	mount_model -o ro "$TMP/$config.yml"
	serve_ranges_again
	equal "$(checksum "$MNT/organs/blk_2_ffn_up.bin")" "$merged" "the organ of $config.yml"
	unmount_and_wait
done

# A mount of a URL can open another one, and so can the next mount of its layer.
mkdir "$TMP/layer"
cp "$TMP/form.yml" "$TMP/written.yml"
mount_model -o "noassemble,layer=$TMP/layer" "$TMP/other.yml"
serve_ranges_again
# .merge with credentials in a URL is readable by its owner only.
cat "$TMP/local.yml" >"$MNT/.merge"
equal "$(stat -c %a "$MNT/.merge")" 644
cat "$TMP/written.yml" >"$MNT/.merge"
equal "$(stat -c %a "$MNT/.merge")" 600
equal "$(checksum "$MNT/organs/blk_2_ffn_up.bin")" "$merged" 'the organ of the written merge'
equal "$(layer_sql "$TMP/layer" "SELECT count(*) FROM merge WHERE text LIKE '%$URL%'")" 1
equal "$(stat -c %a "$TMP/layer/layer.db" "$TMP/layer/layer.db-wal")" $'600\n600'
unmount_and_wait
mount_model -o "noassemble,layer=$TMP/layer" "$clerk"
serve_ranges_again
equal "$(checksum "$MNT/organs/blk_2_ffn_up.bin")" "$merged" 'the organ of the resumed merge'
rm "$MNT/.merge"
unmount_and_wait

# A mount without a URL gives the reason why it opens none.
if ! grep -q '__[at]san_init' "$ORGANFS"; then
	mount_model -o noassemble "$clerk"
	! cat "$TMP/written.yml" >"$MNT/.merge" || fail 'a mount of files opens a URL'
	log_says 'no network access'
	absent "$MNT/.merge"
	unmount_and_wait
fi
end_server

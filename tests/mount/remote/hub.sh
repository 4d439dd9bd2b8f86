#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# A file of the Hub that the cache lacks is read from HF_ENDPOINT, mounted and merged; a later
# mount of the layer and a recipe find it again.
. "${0%/*}/../lib.sh"

export HOME=$TMP/home
mkdir -p "$TMP/www/me/repo/resolve/main/sub" "$TMP/here"
cp "$MODELS/stories260K.gguf" "$TMP/www/me/repo/resolve/main/sub/story.gguf"
model=$(use stories260K-donor)
serve_ranges
export HF_ENDPOINT=$URL/good
cd "$TMP/here"

mount_model 'hf:me/repo/sub/story.gguf'
same "$MNT/model.gguf" "$MODELS/stories260K.gguf"
equal "$(findmnt -n -o SOURCE "$MNT")" 'hf:me/repo/sub/story.gguf'
cp "$MNT/organs/blk_1_ffn_up.bin" "$MNT/organs/blk_0_ffn_up.bin"
unmount_and_wait
exists 'story.grafted.gguf'
expect_refusal hf:me/repo/none.gguf

printf 'merge_method: linear\nmodels:\n' >merge.yml
printf -- '- {model: "%s", parameters: {weight: 1}}\n' "$model" hf:me/repo/sub/story.gguf \
	>>merge.yml
mount_model -o "noassemble,layer=$TMP/layer" merge.yml
merged=$(checksum "$MNT/organs/blk_1_ffn_up.bin")
unmount_and_wait
mount_model -o "noassemble,layer=$TMP/layer" "$model"
equal "$(checksum "$MNT/organs/blk_1_ffn_up.bin")" "$merged"
unmount_and_wait
[ ! -e "$HOME" ] || no_litter "$HOME"
end_server

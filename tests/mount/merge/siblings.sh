#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# A merge of the mount's other models: a directory of organ files, and a model on a server with a
# password. The next mount with both has the merge too.
. "${0%/*}/../lib.sh"

base=$(use scribe-Q4_K_M)
cd "$TMP"
mkdir www parts
cp "$MODELS/clerk-Q4_K_M.gguf" www/clerk.gguf
mount_model -o noassemble www/clerk.gguf
cp -r "$MNT"/{embed,norm,organs,skeleton,header.gguf} parts
unmount_and_wait

# config NAME: a merge with the mount's model of that name.
config() {
	printf 'merge_method: linear\nparameters: {weight: 1}\nmodels:\n'
	printf -- '- {model: "%s"}\n' "$PWD/scribe-Q4_K_M.gguf" "$1"
}

mount_model -o "noassemble,layer=$TMP/layer" "$base"
config "$PWD/www/clerk.gguf" >"$MNT/.merge"
cp "$MNT/model.gguf" merged.gguf
unmount_and_wait

# merged NAME MODEL: the merge by the name of a mount's model equals that by MODEL, also at the
# next mount.
merged() {
	mount_daemon -o "noassemble,layer=$TMP/layer-$1" "$base" "$2" "$MNT"
	config "$1" >"$MNT/scribe-Q4_K_M/.merge"
	same "$MNT/scribe-Q4_K_M/model.gguf" merged.gguf
	unmount_and_wait
	mount_daemon -o "noassemble,layer=$TMP/layer-$1" "$base" "$2" "$MNT"
	same "$MNT/scribe-Q4_K_M/model.gguf" merged.gguf
	unmount_and_wait
}
merged parts parts
# Without that model its tensors are broken, like those of any missing model.
mount_model -o "noassemble,layer=$TMP/layer-parts/scribe-Q4_K_M" "$base"
log_says '\.merge: .*"/.*/parts/header.gguf" cannot be read'
expect_fail 'input/output error' cat "$MNT/model.gguf"
unmount_and_wait

serve_ranges
merged clerk "http://me:pass%20word@${URL#http://}/secret/clerk.gguf?token=sesame"
end_server

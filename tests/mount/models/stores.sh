#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Models by their names in ollama, the Hub's cache and LM Studio: mounts, commands, merges and
# recipes. The stores do not change, and written files have the model's name.
. "${0%/*}/../lib.sh"

export HOME=$TMP/home
scribe=$MODELS/stories260K.gguf clerk=$MODELS/stories260K-donor.gguf
in_ollama registry.ollama.ai/library/scribe/7b "$scribe"
in_ollama registry.ollama.ai/me/clerk/latest "$clerk"
in_hub me/repo/clerk.gguf "$clerk"
for k in 1 2 3; do
	in_hub "me/repo/split-0000$k-of-00003.gguf" "$MODELS/stories260K-split-0000$k-of-00003.gguf"
done
in_lm_studio me/repo/clerk.gguf "$clerk"
state() {
	(cd "$HOME" && find .ollama .cache .lmstudio -type f -exec sha256sum {} + | sort)
}
"$LORA" make "$scribe" "$TMP/a.gguf" 'blk.1.*' --seed a
"$LORA" merge "$scribe" "$TMP/adapted.gguf" "$TMP/a.gguf=1" >/dev/null
in_hub me/repo/a.gguf "$TMP/a.gguf"
state >"$TMP/before"
mkdir "$TMP/here"
cd "$TMP/here"

# graft NAME: mount and graft; the unmount writes to the working directory.
graft() {
	mount_model "$1"
	cp "$MNT/organs/blk_1_ffn_up.bin" "$MNT/organs/blk_0_ffn_up.bin"
	unmount_and_wait
}
mount_model ollama:scribe:7b
same "$MNT/model.gguf" "$scribe"
equal "$(findmnt -n -o SOURCE "$MNT")" ollama:scribe:7b
grep -q '"name":"scribe-7b"' "$MNT/manifest.json" || fail "$(head -3 "$MNT/manifest.json")"
unmount_and_wait
graft ollama:scribe:7b
graft hf:me/repo/clerk.gguf
graft lmstudio:me/repo/clerk
equal "$(echo *)" 'clerk.grafted-2.gguf clerk.grafted.gguf scribe-7b.grafted.gguf'
same clerk.grafted.gguf clerk.grafted-2.gguf
rm ./*

# Cases: an earlier mount's private layer, a split model, several models.
mount_model -o noassemble ollama:scribe:7b
cp "$MNT/organs/blk_1_ffn_up.bin" "$MNT/organs/blk_0_ffn_up.bin"
sum=$(checksum "$MNT/model.gguf")
unmount_and_wait
mount_model -o noassemble ollama:scribe:7b
equal "$(checksum "$MNT/model.gguf")" "$sum" 'the model that is taken up'
unmount_and_wait
mount_model -o ro "$MODELS/stories260K.gguf"
split=$(cat "$MNT"/*/*.bin | sha256sum)
unmount_and_wait
mount_model -o ro hf:me/repo/split-00002-of-00003.gguf
equal "$(cat "$MNT"/*/*.bin | sha256sum)" "$split" "the organs of the shards"
unmount_and_wait
mount_model -o ro,model=hf:me/repo/clerk.gguf ollama:me/clerk
equal "$(ls "$MNT")" $'clerk\nclerk-2\nmanifest.json'
unmount_and_wait

# Commands, and files that have such names.
"$ORGANFS" --diff=tsv ollama:scribe:7b hf:me/repo/clerk.gguf >diff
same diff <("$ORGANFS" --diff=tsv "$scribe" "$clerk" |
	sed "s,$scribe,ollama:scribe:7b,; s,$clerk,hf:me/repo/clerk.gguf,")
"$ORGANFS" --show ollama:scribe:7b | grep -q scribe-7b || fail 'shown by another name'
"$ORGANFS" --pack lmstudio:me/repo/clerk.gguf packed.gguf
same packed.gguf "$clerk"
cp "$MODELS/stories260K.gguf" hf:file.gguf
"$ORGANFS" --pack hf:file.gguf packed.gguf
same packed.gguf "$MODELS/stories260K.gguf"
rm ./*

# Merges: by a configuration, whose result has the readable name too, and from a written model.
configuration() {
	printf 'merge_method: linear\nmodels:\n'
	printf -- '- {model: "%s", parameters: {weight: 0.5}}\n' "$@"
}
configuration "$scribe" "$clerk" >paths.yml
configuration ollama:scribe:7b hf:me/repo/clerk.gguf >names.yml
mount_model -o ro paths.yml
merged=$(checksum "$MNT/organs/blk_2_ffn_up.bin")
unmount_and_wait
mount_model names.yml
equal "$(checksum "$MNT/organs/blk_2_ffn_up.bin")" "$merged"
unmount_and_wait
exists scribe-7b.grafted.gguf
mount_model -o noassemble "$scribe"
echo '{merge_method: passthrough, models: [{model: "ollama:scribe:7b+hf:me/repo/a.gguf"}]}' \
	>adapted.yml
cp adapted.yml "$MNT/.merge"
same "$MNT/model.gguf" "$TMP/adapted.gguf"
cp names.yml "$MNT/.merge"
equal "$(checksum "$MNT/organs/blk_2_ffn_up.bin")" "$merged"
configuration ollama:none ollama:me/clerk >wrong.yml
! cp wrong.yml "$MNT/.merge" 2>/dev/null || fail 'a model that is not there is merged'
log_says '"ollama:none": ollama has no such model'
cp "$MNT/.recipe" recipe
grep -q '^  path: hf:me/repo/clerk.gguf$' recipe || fail "$(cat recipe)"
! grep -q sha256- recipe || fail "$(cat recipe)"
rm "$MNT/.merge"
cp recipe "$MNT/.recipe" || fail "$(tail -n 5 "$MNT/.log")"
equal "$(checksum "$MNT/organs/blk_2_ffn_up.bin")" "$merged"
rm "$MNT/.merge"
unmount_and_wait

# An unusable model is refused by name; no store was written so far.
state | cmp - "$TMP/before" || fail 'a store has changed'
truncate -s -1 "$HOME"/.ollama/models/blobs/*
expect_refusal ollama:scribe:7b
expect_refusal ollama:../../etc/passwd
expect_refusal hf:me/repo/../clerk.gguf
ln -sf "$scribe" "$HOME/.cache/huggingface/hub/models--me--repo/snapshots/"*/clerk.gguf
expect_refusal hf:me/repo/clerk.gguf

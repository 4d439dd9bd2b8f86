#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Organs of another type change sizes: the model is laid out anew, and back again.
. "${0%/*}/../lib.sh"

base=$(use stories260K)
donor=$(use stories260K-q8_0)
mkdir "$TMP/donor"
mount_model "$base"
mount_model -o ro "$donor" "$TMP/donor"

cp "$TMP"/donor/organs/*_ffn_up.bin "$TMP"/donor/organs/*_ffn_gate.bin "$MNT/organs/"
"$GGUF" relayout "$base" "$donor" 'blk.*.ffn_[ug]*' "$TMP/expected"
same "$MNT/model.gguf" "$TMP/expected"
"$GGUF" check-mount --grafted "$TMP/expected" "$MNT"
equal "$(stat -c %s "$MNT/model.gguf")" "$(stat -c %s "$TMP/expected")" 'size of model.gguf'

# The base's own organs end the grafts.
for slot in "$MNT"/organs/*_ffn_up.bin "$MNT"/organs/*_ffn_gate.bin; do
	tensor=$(basename "$slot" .bin)
	tensor=${tensor/blk_/blk.}
	"$GGUF" organ "$base" "${tensor/_ffn/.ffn}.weight" "$TMP/organ.bin"
	cp "$TMP/organ.bin" "$slot"
done
same "$MNT/model.gguf" "$base"

cp "$TMP"/donor/embed/token_embd.bin "$MNT/embed/"
"$GGUF" relayout "$base" "$donor" token_embd.weight "$TMP/expected"
same "$MNT/model.gguf" "$TMP/expected"
unmount_and_wait
same "$TMP/stories260K.grafted.gguf" "$TMP/expected"
unmount_and_wait "$TMP/donor"

#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# A new key of the GGUF specification gets its type from there: llama.cpp does not load a model in
# which a count is a string.
. "${0%/*}/../lib.sh"

type_of() {
	getfattr --absolute-names --only-values -n user.organfs.type "$1"
}
# makes KEY TEXT TYPE: a write of that text makes a key of that type.
makes() {
	printf '%s\n' "$2" >"$m/$1"
	equal "$(type_of "$m/$1")" "$3" "the type of $1"
	equal "$(cat "$m/$1")" "$2" "the value of $1"
}

base=$(use stories260K)
m=$MNT/metadata
mount_model "$base"
makes llama.nextn_predict_layers 1 uint32
makes llama.rope.scaling.factor 2.5 float32
makes llama.rope.scaling.finetuned true bool
makes llama.rope.scaling.type yarn string
makes llama.attention.sliding_window_pattern '[true, false]' 'array of bool'
makes general.tags '["merge"]' 'array of string'
makes general.sampling.top_k 40 int32
makes general.base_model.0.name Stories string
makes my.count 1 string
makes qwen3.nextn_predict_layers 1 string

# A text that is no value of that type makes no key.
echo many >"$TMP/text"
expect_fail 'invalid argument' cp "$TMP/text" "$m/llama.expert_count"
log_says 'metadata/llama.expert_count: refused.* uint32'
absent "$m/llama.expert_count"
# A type set before wins.
touch "$m/llama.expert_used_count"
setfattr -n user.organfs.type -v uint64 "$m/llama.expert_used_count"
makes llama.expert_used_count 2 uint64
# A copied key has its type too, and an edited string key stays a string.
cp "$m/llama.nextn_predict_layers" "$m/llama.leading_dense_block_count"
equal "$(type_of "$m/llama.leading_dense_block_count")" uint32
# Another architecture has other keys.
echo qwen3 >"$m/general.architecture"
makes qwen3.expert_group_count 4 uint32
makes llama.expert_group_count 4 string

"$GGUF" edit "$base" "$TMP/expected" llama.nextn_predict_layers=uint32:1 \
	llama.rope.scaling.factor=float32:2.5 llama.rope.scaling.finetuned=bool:true \
	llama.rope.scaling.type=string:yarn \
	'llama.attention.sliding_window_pattern=bool[]:[true, false]' \
	'general.tags=string[]:["merge"]' general.sampling.top_k=int32:40 \
	general.base_model.0.name=string:Stories my.count=string:1 \
	qwen3.nextn_predict_layers=string:1 llama.expert_used_count=uint64:2 \
	llama.leading_dense_block_count=uint32:1 general.architecture=string:qwen3 \
	qwen3.expert_group_count=uint32:4 llama.expert_group_count=string:4
same "$MNT/model.gguf" "$TMP/expected"
# The types outlive the mount.
kill_daemon
mount_model "$base"
same "$MNT/model.gguf" "$TMP/expected"
rm "$m"/llama.nextn_predict_layers
unmount_and_wait

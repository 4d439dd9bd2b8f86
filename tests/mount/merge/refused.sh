#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# An error in a configuration is reported in one sentence, with line and column if known; the merge
# in force stays.
. "${0%/*}/../lib.sh"

base=$(use scribe-Q4_K_M)
use clerk-Q4_K_M >"$TMP/said"
other=$(use stories260K)
cd "$TMP"
mount_model -o noassemble "$base"
printf 'merge_method: linear\nmodels: [{model: clerk-Q4_K_M, parameters: {weight: 1}}]\n' >good.yml
cp good.yml "$MNT/.merge"
cp "$MNT/model.gguf" merged.gguf

# refuses PATTERN: the configuration is on standard input.
refuses() {
	local before
	before=$(wc -l <"$MNT/.log")
	cat >bad.yml
	expect_fail 'invalid argument|too large' cp bad.yml "$MNT/.merge"
	equal "$(wc -l <"$MNT/.log")" $((before + 1)) "$(tail -n 3 "$MNT/.log")"
	log_says "\.merge: refused: .*$1.*; nothing is changed"
	same good.yml "$MNT/.merge"
}

one='models: [{model: clerk-Q4_K_M, parameters: {weight: 1}}]'
refuses 'line 1, column 15: ' <<<'merge_method: magic'
refuses 'line 3, column 1: .*merge_metod' <<<"merge_method: linear
$one
merge_metod: linear"
refuses 'weight' <<<'merge_method: linear
models: [{model: clerk-Q4_K_M}]'
refuses 'line 3, column [0-9]*: .*density' <<<"merge_method: linear
$one
parameters: {density: 0.5}"
refuses 'line 2, column [0-9]*: ' <<<'merge_method: linear
models: nothing'
refuses 'line [0-9]*, column [0-9]*: ' <<<'merge_method: [linear'
refuses 'Hugging Face' <<<'merge_method: linear
models: [{model: mistralai/Mistral-7B-v0.1, parameters: {weight: 1}}]'
refuses 'there is no file "nothing"' <<<'merge_method: linear
models: [{model: nothing, parameters: {weight: 1}}]'
refuses 'into this mount' <<<"merge_method: linear
models: [{model: $MNT/model.gguf, parameters: {weight: 1}}]"
refuses 'into this mount' <<<"merge_method: linear
models: [{model: 'file://$MNT/model.gguf', parameters: {weight: 1}}]"
for inside in "$MNT" "$MNT/header.gguf" "$MNT/model-00001-of-00002.gguf"; do
	refuses 'into this mount' <<<"merge_method: linear
models: [{model: '$inside', parameters: {weight: 1}}]"
done
ln -s "$MNT/model.gguf" link.gguf
refuses 'link".* this mount' <<<'merge_method: linear
models: [{model: link, parameters: {weight: 1}}]'
refuses 'line 2, column [0-9]*: "stories260K.gguf" has 5 blocks' <<<"merge_method: linear
models: [{model: ${other##*/}, parameters: {weight: 1}}]"
refuses 'line [0-9]*, column [0-9]*: .*block' <<<'merge_method: passthrough
slices: [{sources: [{model: clerk-Q4_K_M, layer_range: [0, 9]}]}]'
refuses 'no file|GGUF|cannot be read' <<<"merge_method: linear
models: [{model: $TMP, parameters: {weight: 1}}]"
refuses 'line 2, column [0-9]*: .*(alias|anchor)' <<<'merge_method: passthrough
models: &a [{model: *a}, *a]'
refuses '' <<<''
head -c 10000000 /dev/zero | tr '\0' '\n' >large.yml
expect_fail 'too large' cp large.yml "$MNT/.merge"
log_says '\.merge: refused: '
printf 'merge_method: linear\0' >nul.yml
expect_fail 'invalid' cp nul.yml "$MNT/.merge"
same good.yml "$MNT/.merge"
same "$MNT/model.gguf" merged.gguf

# Other names beside it cannot be made.
expect_fail 'not permitted' touch "$MNT/.merges"
absent "$MNT/.merges"
unmount_and_wait

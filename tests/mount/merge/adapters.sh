#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# MODEL+ADAPTER in a configuration equals another program's merge of both, to the bit, as a model,
# as the base model, and in slices; the next mount and a recipe restore it, and an unfitting
# adapter is refused.
. "${0%/*}/../lib.sh"

base=$(use stories260K)
cd "$TMP"
"$LORA" make "$base" a.gguf 'blk.[01].attn_q.weight' token_embd.weight --seed a
"$LORA" make "$base" b.gguf 'blk.1.*' --rank 3 --alpha 0 --type F16 --seed b
"$LORA" merge "$base" with-a.gguf a.gguf=1 >/dev/null
"$LORA" merge "$base" with-b.gguf b.gguf=1 >/dev/null

# merge LINES: put that configuration in force.
merge() {
	printf '%b\n' "$@" >some.yml
	cp some.yml "$MNT/.merge" || fail "$(tail -n 1 "$MNT/.log")"
}

# refused SENTENCE LINES: the configuration fails.
refused() {
	local says=$1
	shift
	printf '%b\n' "$@" >some.yml
	expect_fail 'invalid argument|no such file' cp some.yml "$MNT/.merge"
	tail -n 1 "$MNT/.log" | grep -qF -- "$says" || fail "$(tail -n 1 "$MNT/.log")"
}

mount_model -o noassemble "$base"
merge 'merge_method: passthrough' 'models: [{model: stories260K+a.gguf}]'
same "$MNT/model.gguf" with-a.gguf
merge 'merge_method: passthrough' 'models: [{model: {model: stories260K, lora: {path: b.gguf}}}]'
same "$MNT/model.gguf" with-b.gguf
# The base is a model beside itself with an adapter.
for method in linear ties; do
	merge "merge_method: $method\nbase_model: stories260K\nparameters: {weight: 0.3}" \
		'models: [{model: with-a}, {model: with-b}]'
	cp "$MNT/model.gguf" wanted
	merge "merge_method: $method\nbase_model: stories260K\nparameters: {weight: 0.3}" \
		'models: [{model: stories260K+a}, {model: {path: stories260K, lora: b}}]'
	same "$MNT/model.gguf" wanted
done
merge 'merge_method: slerp\nbase_model: with-a\nparameters: {t: 0.4}\nslices:\n- sources:' \
	'  - {model: with-a, layer_range: [0, 2]}\n  - {model: with-b, layer_range: [1, 3]}'
cp "$MNT/model.gguf" wanted
merge 'merge_method: slerp\nbase_model: stories260K+a\nparameters: {t: 0.4}\nslices:\n- sources:' \
	'  - {model: {path: stories260K, lora: a}, layer_range: [0, 2]}' \
	'  - {model: stories260K+b.gguf, layer_range: [1, 3]}'
same "$MNT/model.gguf" wanted
! grep -Ev '^(ok|risky)' "$MNT/.check" || fail "$(cat "$MNT/.check")"
cp "$MNT/.recipe" recipe

refused 'is not half of a low-rank pair' 'merge_method: passthrough' \
	'models: [{model: stories260K+with-a}]'
sed 's/blk\.1/blk.9/' b.gguf >c.gguf
refused 'has no blk.9.' 'merge_method: passthrough' 'models: [{model: stories260K+c}]'
refused 'is a model and an adapter at once' 'merge_method: linear\nparameters: {weight: 1}' \
	'models: [{model: stories260K+a}, {model: a}]'
refused 'there is no file "d"' 'merge_method: passthrough' 'models: [{model: stories260K+d}]'
cp "$base" x+y.gguf
refused 'a name with "+" is written {path: NAME}' 'merge_method: passthrough' \
	'models: [{model: x+y.gguf}]'
same "$MNT/model.gguf" wanted
unmount_and_wait

mount_model -o noassemble "$base"
same "$MNT/model.gguf" wanted
rm "$MNT/.merge"
cp recipe "$MNT/.recipe" || fail "$(tail -n 1 "$MNT/.log")"
same "$MNT/model.gguf" wanted
unmount_and_wait

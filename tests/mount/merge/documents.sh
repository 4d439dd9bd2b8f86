#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# A configuration of several documents, some of them models of others, gives the bytes of its
# documents one after another with files between. Loops, duplicate names and unused documents are
# refused, and change nothing.
. "${0%/*}/../lib.sh"

base=$(use stories260K) donor=$(use stories260K-donor)
cd "$TMP"
cat >1.yml <<'END'
name: stacked
merge_method: passthrough
slices:
- sources: [{model: stories260K, layer_range: [0, 3]}]
- sources: [{model: stories260K-donor, layer_range: [3, 5]}]
END
cat >2.yml <<'END'
name: blend
merge_method: ties
base_model: stacked
out_dtype: q8_0
parameters: {weight: 0.6, density: 0.5}
models: [{model: stories260K}, {model: stories260K-donor}]
END
cat >3.yml <<'END'
merge_method: slerp
out_dtype: float32
parameters: {t: [0.2, 0.7]}
models: [{model: blend}, {model: stories260K-donor}]
END
(cat 2.yml && echo --- && cat 3.yml && echo --- && cat 1.yml) >all.yml

# Write model.gguf of a mount of NAME.yml to FILE.
step() {
	mount_model -o ro "$1.yml"
	cp "$MNT/model.gguf" "$2.gguf"
	unmount_and_wait
}
step 1 stacked
step 2 blend
step 3 expected

# The model in the result's place is found through the documents.
rm stacked.gguf blend.gguf
step all all
same all.gguf expected.gguf

mount_model -o noassemble "$base"
cp all.yml "$MNT/.merge"
same "$MNT/model.gguf" expected.gguf
equal "$(cut -f 1-3 "$MNT/.grafts" | tr '\t' ' ')" '.merge merge slerp'
cp "$MNT/.recipe" recipe.yml

# refused REASON TEXT: it fails and changes nothing.
refused() {
	printf '%s\n' "${@:2}" >bad.yml
	expect_fail 'invalid argument' cp bad.yml "$MNT/.merge"
	log_says "\.merge: refused: .*$1.*; nothing is changed"
	same all.yml "$MNT/.merge"
}
m='merge_method: linear'
w='parameters: {weight: 1}'
refused 'line [0-9]*, column [0-9]*: "a" is made of itself' \
	'name: a' "models: [{model: b}]" "$m" "$w" --- 'name: b' "models: [{model: a}]" "$m" "$w" \
	--- "models: [{model: a}]" "$m" "$w"
end=("models: [{model: a}]" "$m" "$w")
donors=("models: [{model: stories260K-donor}]" "$m" "$w")
refused '"a" is the name of two documents' 'name: a' "${end[@]}" --- 'name: a' "${donors[@]}" --- \
	"${end[@]}"
refused '"a" is no model of another document' 'name: a' "${donors[@]}" --- "${donors[@]}"
refused 'there is no file "b"' 'name: a' "models: [{model: b}]" "$m" "$w" --- "${end[@]}"
refused 'another document has no "name"' "${donors[@]}" --- "${donors[@]}"
same "$MNT/model.gguf" expected.gguf

# The next mount has the merge, if it has the models of all documents.
kill_daemon
mv "$donor" away.gguf
mount_model -o noassemble "$base"
expect_fail 'input/output error' cat "$MNT/model.gguf"
mv away.gguf "$donor"
is_merged() {
	ls "$MNT/organs" >"$TMP/ls"
	cmp -s "$MNT/model.gguf" expected.gguf 2>"$TMP/said"
}
until_true 60 is_merged || fail "the model is back: $(cat "$MNT/.log")"
rm "$MNT/.merge"
same "$MNT/model.gguf" "$base"
cp recipe.yml "$MNT/.recipe"
same "$MNT/model.gguf" expected.gguf
rm "$MNT/.merge"
unmount_and_wait

#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# organfs --models lists the models of stores, by names that can be mounted; stderr has a line for
# each damaged one.
. "${0%/*}/../lib.sh"

need script
export HOME=$TMP
story=$MODELS/stories260K.gguf size=$(stat -c %s "$MODELS/stories260K.gguf")
"$ORGANFS" --models >"$TMP/out" 2>"$TMP/said" || fail 'without a store'
[ ! -s "$TMP/out" ] && [ ! -s "$TMP/said" ] || fail "$(cat "$TMP/out" "$TMP/said")"

in_ollama registry.ollama.ai/library/story/latest "$story"
in_hub me/repo/story.gguf "$story"
in_lm_studio "me/repo/my story.gguf" "$story"
cp -r "$TMP/.ollama/models/manifests/registry.ollama.ai/library/story" \
	"$TMP/.ollama/models/manifests/registry.ollama.ai/library/bad"
echo '{}' >"$TMP/.ollama/models/manifests/registry.ollama.ai/library/bad/latest"
"$ORGANFS" --models >"$TMP/out" 2>"$TMP/said" || fail "$(cat "$TMP/said")"
printf '%s\t%d\n' hf:me/repo/story.gguf "$size" 'lmstudio:me/repo/my story.gguf' "$size" \
	ollama:story:latest "$size" | cmp - "$TMP/out" || fail "$(cat "$TMP/out")"
equal "$(cut -d : -f 1-5 "$TMP/said")" 'organfs: ollama:bad:latest: passed over'
while IFS=$'\t' read -r name _; do
	"$ORGANFS" --pack -f "$name" "$TMP/packed.gguf" 2>"$TMP/said" || fail "$(cat "$TMP/said")"
	same "$TMP/packed.gguf" "$story"
done <"$TMP/out"
"$ORGANFS" --models --json 2>/dev/null | python3 -c '
import json, os, sys
for model in json.load(sys.stdin):
    assert os.stat(model["file"]).st_size == model["size"]
    print(model["name"])' >"$TMP/names"
same "$TMP/names" <(cut -f 1 "$TMP/out")
script -qec "$ORGANFS --models 2>/dev/null" "$TMP/typed" >/dev/null </dev/null
grep -q "^ollama:story:latest  *$size" "$TMP/typed" || fail "$(cat "$TMP/typed")"
expect_fail 'takes no MODEL' "$ORGANFS" --models "$story"

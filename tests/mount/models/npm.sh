#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# plain: tests programs of others
# release: needs node
# An independent parser reads chimeras of grafts across types, purified organs and reordered
# experts, and they generate text, also from the mount. ORGANFS_NPM: a directory with node_modules
# of @huggingface/gguf and node-llama-cpp.
# timeout: 240
. "${0%/*}/../lib.sh"

need node
[ -n "${ORGANFS_NPM-}" ] || skip 'ORGANFS_NPM is not set'
for package in @huggingface/gguf node-llama-cpp; do
	[ -d "$ORGANFS_NPM/node_modules/$package" ] || skip "no $package in $ORGANFS_NPM"
done
donor=$(use clerk-Q4_K_M)
if [ -f "${ORGANFS_MODELS-}/scribe-f16.gguf" ]; then
	cp "$ORGANFS_MODELS/scribe-f16.gguf" "$TMP/base.gguf"
else
	cp "$MODELS/scribe-Q4_K_M.gguf" "$TMP/base.gguf"
fi
mkdir "$TMP/donor"
mount_model "$TMP/base.gguf"
mount_model -o ro "$donor" "$TMP/donor"
cp "$TMP"/donor/organs/*_ffn_*.bin "$MNT/organs/"
cp "$TMP"/donor/norm/*_ffn_norm.bin "$MNT/norm/"
# The Q6_K organ replaces a smaller or a larger type, so offsets change.
cp "$TMP/donor/embed/token_embd.bin" "$MNT/embed/"
cp "$TMP/donor/organs/blk_5_ffn_down.bin" "$MNT/organs/blk_1_ffn_down.bin"

cat >"$TMP/parse.mjs" <<'END'
import { createRequire } from "node:module";
const require = createRequire(process.env.ORGANFS_NPM + "/");
const { gguf } = await import(require.resolve("@huggingface/gguf"));
const { metadata, tensorInfos } = await gguf(process.argv[2], { allowLocalFile: true });
console.log(metadata["general.architecture"], tensorInfos.length,
	    metadata["llama.block_count"]);
END
cat >"$TMP/generate.mjs" <<'END'
import { pathToFileURL } from "node:url";
const home = process.env.ORGANFS_NPM + "/node_modules/node-llama-cpp/dist/index.js";
const { getLlama, LlamaCompletion } = await import(pathToFileURL(home));
const llama = await getLlama({ gpu: false, maxThreads: 1, build: "never", logLevel: "error" });
const model = await llama.loadModel({ modelPath: process.argv[2], useMmap: true });
const context = await model.createContext({ contextSize: 128, threads: 1 });
const completion = new LlamaCompletion({ contextSequence: context.getSequence() });
const options = { maxTokens: 40, temperature: 0 };
console.log(await completion.generateCompletion("In the beginning", options));
process.exit(0);
END
check() {
	equal "$(node "$TMP/parse.mjs" "$1")" "llama ${2:-57} ${3:-6}" "the parser about $1"
	node "$TMP/generate.mjs" "$1" >"$TMP/text" || fail "no text from $1"
	[ "$(wc -c <"$TMP/text")" -gt 20 ] || fail "text from $1: $(cat "$TMP/text")"
	cat "$TMP/text"
}

check "$MNT/model.gguf"
cp "$TMP/text" "$TMP/live"
unmount_and_wait
unmount_and_wait "$TMP/donor"
check "$TMP/base.grafted.gguf"
same "$TMP/text" "$TMP/live"

# Shards of the same model: a loader finds the others by the first one's name.
mount_model -o noassemble "$TMP/base.grafted.gguf"
echo "$TMP/part-%05d-of-%05d.gguf split=500K" >"$MNT/.assemble"
unmount_and_wait
node "$TMP/generate.mjs" "$TMP"/part-00001-of-*.gguf >"$TMP/text" || fail 'no text from shards'
same "$TMP/text" "$TMP/live"

# The shell alone doubles the middle blocks, and removes a block.
base=$(use scribe-Q4_K_M)
mount_model -o noassemble "$base"
for n in 5 4; do
	for file in "$MNT"/*/blk_${n}_*.bin; do
		mv "$file" "${file/blk_${n}_/blk_$((n + 2))_}"
	done
done
for n in 2 3; do
	for file in "$MNT"/*/blk_${n}_*.bin; do
		ln "$file" "${file/blk_${n}_/blk_$((n + 2))_}"
	done
done
check "$MNT/model.gguf" 75 8
kill_daemon
rm -rf "$XDG_STATE_HOME"
mount_model -o noassemble "$base"
rm "$MNT"/*/blk_3_*.bin
for n in 4 5; do
	for file in "$MNT"/*/blk_${n}_*.bin; do
		mv "$file" "${file/blk_${n}_/blk_$((n - 1))_}"
	done
done
check "$MNT/model.gguf" 48 5
kill_daemon
rm -rf "$XDG_STATE_HOME"

# The whole model is purified.
for form in spectral fractal; do
	mount_model -o noassemble "$base"
	for class in skeleton organs embed; do
		cp "$MNT/.views/$form/$class/"*.bin "$MNT/$class/"
	done
	equal "$(wc -l <"$MNT/.grafts")" 44
	check "$MNT/model.gguf"
	kill_daemon
	rm -rf "$XDG_STATE_HOME"
done

# Published configurations of mergekit, with these models' names.
cat >"$TMP/slerp.yml" <<END
slices:
  - sources:
      - model: $base
        layer_range: [0, 6]
      - model: $donor
        layer_range: [0, 6]
merge_method: slerp
base_model: $base
parameters:
  t:
    - filter: self_attn
      value: [0, 0.5, 0.3, 0.7, 1]
    - filter: mlp
      value: [1, 0.5, 0.7, 0.3, 0]
    - value: 0.5 # fallback for rest of tensors
dtype: bfloat16
END
cat >"$TMP/dare_ties.yml" <<END
models:
  - model: $base
    # No parameters necessary for base model
  - model: $donor
    parameters:
      density: 0.53
      weight: 0.4
  - model: $TMP/base.grafted.gguf
    parameters:
      density: 0.53
      weight: 0.3
merge_method: dare_ties
base_model: $base
parameters:
  int8_mask: true
dtype: float16
END
cat >"$TMP/passthrough.yml" <<END
slices:
- sources:
  - model: $base
    layer_range: [0, 4]
- sources:
  - model: $donor
    layer_range: [2, 6]
merge_method: passthrough
END
for method in slerp dare_ties passthrough; do
	mount_model -o ro "$TMP/$method.yml"
	case $method in
	passthrough) check "$MNT/model.gguf" 75 8 ;;
	*) check "$MNT/model.gguf" ;;
	esac
	kill_daemon
done

# Renumbered experts make the same model; with one less it still runs.
"$GGUF" experts "$MODELS/stories260K.gguf" "$TMP/moe.gguf" 8
order() {
	for directory in "$MNT"/.views/experts/*/*/; do
		echo "$@" >"$directory/order"
	done
}
check "$TMP/moe.gguf" 53 5
cp "$TMP/text" "$TMP/live"
mount_model -o noassemble "$TMP/moe.gguf"
order 0 1 5 3 4 2 6 7
differ "$MNT/model.gguf" "$TMP/moe.gguf"
check "$MNT/model.gguf" 53 5
same "$TMP/text" "$TMP/live"
order 0 1 2 3 4 5 6
echo 7 >"$MNT/metadata/llama.expert_count"
check "$MNT/model.gguf" 53 5
kill_daemon

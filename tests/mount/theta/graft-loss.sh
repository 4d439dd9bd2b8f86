#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# release: tests a program of the benchmarks
# plain: tests programs of others
# The experiments of organfs-faq(7) on grafts and merges can be repeated: each tensor and each
# class is grafted and measured by itself, and the loss is the model's.
. "${0%/*}/../lib.sh"

need python3 cksum
base=$(use stories260K)
donor=$(use stories260K-donor)

# A stand-in for llama-perplexity: a number that depends on the bytes. Its first output ends too
# early, as on a busy machine.
cat >"$TMP/perplexity" <<'END'
#!/bin/sh
[ "$1" = -m ] && [ "$3" = -f ] && [ -f "$4" ] || exit 1
if [ ! -e "$0.asked" ]; then
	: >"$0.asked"
	exit 0
fi
set -- $(cksum <"$2")
echo "Final estimate: PPL = $1.5 +/- 0.1" >&2
END
chmod +x "$TMP/perplexity"
echo text >"$TMP/text"
"$here/../bench/graft_loss.py" "$ORGANFS" "$TMP/perplexity" "$base" "$donor" "$TMP/text" \
	>"$TMP/table" 2>"$TMP/said" || fail "$(cat "$TMP/said")"

measured() {
	awk -F '\t' -v name="$1" '$1 == name { print $5 }' "$TMP/table"
}

expected() {
	set -- $(cksum <"$MNT/model.gguf")
	echo "$1.5"
}

mount_model -o noassemble "$base"
mkdir "$TMP/donor"
mount_model -o ro "$donor" "$TMP/donor"
equal "$(measured nothing)" "$(expected)" 'the base alone'
cp "$TMP/donor/organs/blk_2_ffn_up.bin" "$MNT/organs/"
equal "$(measured organs/blk_2_ffn_up.bin)" "$(expected)" 'one graft'
cp "$TMP"/donor/organs/*.bin "$MNT/organs/"
equal "$(measured organs)" "$(expected)" 'a class'
equal "$(grep -c '\.bin' "$TMP/table")" "$(ls "$MNT"/*/*.bin | wc -l)" 'every tensor'
grep -q '^correlations: all' "$TMP/table" || fail "no correlations: $(tail -n 3 "$TMP/table")"
expect_fail 'no perplexity' \
	"$here/../bench/graft_loss.py" "$ORGANFS" true "$base" "$donor" "$TMP/text"
unmount
unmount "$TMP/donor"

# A model predicts its training text best.
python3=$(PATH=/usr/bin:$PATH command -v python3)
"$python3" -c 'import numpy' 2>/dev/null || skip 'no python3-numpy'
head -c 1024 "$here/../texts/english.txt" >"$TMP/english"
head -c 1024 "$here/../texts/additions.txt" >"$TMP/additions"
for model in scribe clerk; do
	mount_model -o ro "$MODELS/$model-Q4_K_M.gguf"
	"$python3" "$here/../bench/loss.py" "$MNT" "$TMP/english" "$TMP/additions" |
		awk -v who=$model '{ print who, $2 < 1.3 ? "knows" : "knows not" }' >>"$TMP/known"
	unmount
done
equal "$(tr '\n' ' ' <"$TMP/known")" \
	'scribe knows scribe knows not clerk knows clerk knows ' 'the texts that they predict'

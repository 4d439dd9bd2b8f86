#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# organfs --diff: figures of two models agree with NumPy; equal tensors, tensors of one model only,
# and metadata are listed. A file that is no model gives one line with the reason and no output.
. "${0%/*}/../lib.sh"

diff_of() {
	"$ORGANFS" "$@" >"$TMP/diff" 2>"$TMP/err" || fail "$* says $(cat "$TMP/err")"
	[ ! -s "$TMP/err" ] || fail "$* says $(cat "$TMP/err")"
}
# refused: exit 1, a matching line, and no output.
refused() {
	local pattern=$1 status=0
	shift
	"$ORGANFS" "$@" >"$TMP/diff" 2>"$TMP/err" || status=$?
	equal $status 1 "$*"
	equal "$(wc -l <"$TMP/err")" 1 "lines of $(cat "$TMP/err")"
	grep -Eq -- "$pattern" "$TMP/err" || fail "$*: $(cat "$TMP/err")"
	[ ! -s "$TMP/diff" ] || fail "a text of $*"
}
says() {
	grep -Eq -- "$1" "$TMP/diff" || fail "$1 is not in $(cat "$TMP/diff")"
}
says_not() {
	! grep -Eq -- "$1" "$TMP/diff" || fail "$1 is in $(cat "$TMP/diff")"
}
# Compare --diff=tsv with figures from the values in mounts of both models.
beside_numpy() {
	local python3
	python3=$(PATH=/usr/bin:$PATH command -v python3)
	"$python3" -c 'import numpy' 2>/dev/null || return 0
	mkdir -p "$TMP/here" "$TMP/there"
	mount_model -o ro,samples=all "$1" "$TMP/here"
	mount_model -o ro,samples=all "$2" "$TMP/there"
	diff_of --diff=tsv -o samples=all "$1" "$2"
	"$python3" - "$TMP/diff" "$TMP/here" "$TMP/there" <<'END' || fail "NumPy says otherwise"
import sys

import numpy as np


def values(mount, row):
    name = row["tensor"].removesuffix(".weight").replace(".", "_")
    return np.load(f"{mount}/.views/npy/{row['class']}/{name}.npy").ravel().astype("f8")


def theta(mount, row):
    name = row["tensor"].removesuffix(".weight").replace(".", "_")
    return float(open(f"{mount}/{row['class']}/{name}.theta").read())


lines = open(sys.argv[1]).read().splitlines()
header = lines[0].split("\t")
seen = 0
for line in lines[1:]:
    row = dict(zip(header, line.split("\t"), strict=True))
    assert row["status"] == "ok", row
    a, b = values(sys.argv[2], row), values(sys.argv[3], row)
    lengths = np.linalg.norm(a), np.linalg.norm(b), np.linalg.norm(a - b)
    magnitude = np.concatenate((np.abs(a), np.abs(b))).mean()
    expected = {
        "cosine": a @ b / lengths[0] / lengths[1],
        "relative": lengths[2] / lengths[0],
        "average": 75 * np.abs(a - b).mean() / magnitude,  # as in gguf-tools compare
        "largest": np.abs(a - b).max(),
    }
    for key, value in expected.items():
        assert abs(float(row[key]) - value) <= 1e-8 * abs(value) + 1e-8, (row, key, value)
    apart = theta(sys.argv[3], row) - theta(sys.argv[2], row)
    assert abs(float(row["theta"]) - apart) <= 0.0101, (row, apart)
    seen += row["same"] == "no"
assert seen > 20, seen
END
	unmount_and_wait "$TMP/here"
	unmount_and_wait "$TMP/there"
}

beside_numpy "$MODELS/stories260K.gguf" "$MODELS/stories260K-q8_0.gguf"
beside_numpy "$MODELS/scribe-Q4_K_M.gguf" "$MODELS/clerk-Q4_K_M.gguf"

# A model and its copy have no difference.
scribe=$(use scribe-Q4_K_M)
diff_of --diff "$MODELS/scribe-Q4_K_M.gguf" "$scribe"
says '^mean  all +57 +0 +57 +1\.00000000 +0 +0$'
says '^tokenizer the same 260 tokens$'
says '^# metadata that differ: 0$'
says_not '^(most|<|>|only|shape)'

# The output shows exactly a graft, an edited value, a removed and an added tensor.
mount_model -o output="$TMP/chimera.gguf" "$scribe"
cp "$MNT/organs/blk_1_ffn_up.bin" "$MNT/organs/blk_2_ffn_up.bin"
cp "$MNT/organs/blk_5_ffn_up.bin" "$MNT/organs/blk_6_ffn_up.bin"
rm "$MNT/organs/blk_4_ffn_up.bin"
echo other >"$MNT/metadata/general.name"
unmount_and_wait
diff_of --diff "$scribe" "$TMP/chimera.gguf"
says '^mean  all +58 +2 +55 '
equal "$(grep '^most' "$TMP/diff" | awk '{ print $8 }')" blk.2.ffn_up.weight
says '^only-here blk\.4\.ffn_up\.weight$'
says '^only-there blk\.6\.ffn_up\.weight$'
says '^> general\.name = other$'
says '^< general\.name = '
diff_of --diff=tsv "$scribe" "$TMP/chimera.gguf"
equal "$(awk -F '\t' '$7 == "no" { print $4 }' "$TMP/diff")" blk.2.ffn_up.weight
equal "$(grep -c 'only-here$\|only-there$' "$TMP/diff")" 2
equal "$(awk -F '\t' '{ print NF }' "$TMP/diff" | sort -u)" 13

# Shards, and a mount's directory, are valid models.
diff_of --diff "$MODELS/stories260K-split-00002-of-00003.gguf" "$MODELS/stories260K.gguf"
says '^mean  all +48 +0 +48 '
mount_model -o ro "$scribe"
diff_of --diff "$MNT" "$TMP/chimera.gguf"
equal "$(grep '^most' "$TMP/diff" | awk '{ print $8 }')" blk.2.ffn_up.weight
unmount_and_wait

# The models have other shapes, tensors and tokenizers.
diff_of --diff "$MODELS/stories260K.gguf" "$scribe"
says '^shape token_embd\.weight: [0-9]+x[0-9]+ here, [0-9]+x[0-9]+ there$'
says '^# shape: and 38 more$'
says '^tokenizer another vocabulary: llama of 512 tokens here, [a-z0-9]+ of 260 tokens there$'
says '^< tokenizer\.ggml\.tokens = \[.* \(512 elements\)$'

for model in "$MALFORMED/magic-lfs.gguf" "$TMP/none.gguf" "$TMP/err"; do
	refused "^organfs: $model: ." --diff "$scribe" "$model"
	refused "^organfs: $model: ." --diff=tsv "$model" "$scribe"
done

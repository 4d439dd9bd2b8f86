#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Types of ggml forks: they have names and sizes, including row headers, are grafted and assembled
# byte for byte, and are not decoded.
. "${0%/*}/../lib.sh"

need getfattr
"$here/../tools/layouts.py" forks "$TMP/base.gguf"
"$here/../tools/layouts.py" forks "$TMP/donor.gguf" other
"$GGUF" splice "$TMP/base.gguf" "$TMP/donor.gguf" 'blk.*.ffn_*' "$TMP/expected.gguf"
mkdir "$TMP/models"
mv "$TMP/base.gguf" "$TMP/donor.gguf" "$TMP/models"
mount_model -o noassemble "$TMP/models"
base=$MNT/base donor=$MNT/donor

# part NAME TYPE BYTES: make an organ of 64 rows of that many bytes.
part() {
	local file=$base/organs/$1.bin name=blk.0.${1#blk_?_}.weight
	equal "$(getfattr --absolute-names --only-values -n user.organfs.type "$file")" "$2" "$1"
	equal "$(stat -c %s "$file")" $((4 + ${#name} + 4 + 2 * 8 + 4 + 64 * $3)) "size of $1"
}
part blk_0_ffn_gate PQ2_0 68
part blk_0_ffn_up PTQ1_0 56
part blk_0_ffn_down IQ4_KS 140
part blk_1_ffn_gate IQ1_KT 60
part blk_1_ffn_up IQ1_S_R4 50
part blk_1_ffn_down Q6_0 208
equal "$(cut -f 10 "$base/organs/.theta" | sort | uniq -c | xargs)" '1 status 6 undecoded'

same "$base/model.gguf" "$TMP/models/base.gguf"
for file in "$donor"/organs/*.bin; do
	cat "$file" >"$TMP/organ"
	cp "$TMP/organ" "$base/organs/${file##*/}"
	truncate -s -4 "$TMP/organ"
	expect_fail 'invalid argument' cp "$TMP/organ" "$base/organs/${file##*/}"
done
same "$base/model.gguf" "$TMP/expected.gguf"
grep -q '^ok	type	.*as some of this model' "$base/.check" || fail "$(cat "$base/.check")"
unmount_and_wait

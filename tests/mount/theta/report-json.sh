#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# .report.json of one model and of several: JSON of an announced size, in agreement with the other
# files, also after grafts and their undo. organfs --report --json makes it from tables.
. "${0%/*}/../lib.sh"

need python3 getfattr
REPORT=$here/../tools/report.py
report() {
	"$REPORT" "$@" || fail "$*"
}
measured() {
	getfattr --only-values -n user.organfs.measured "$MNT"
}

base=$(use scribe-Q4_K_M)
mount_model -o noassemble "$base"
size=$(stat -c %s "$MNT/.report.json")
equal "$(measured)" 0 'measured by stat'
cat "$MNT/.report.json" >"$TMP/whole"
equal "$(stat -c %s "$TMP/whole")" "$size" 'bytes'
equal "$(measured)" 57
# The pieces are read from the last to the first.
dd if="$MNT/.report.json" bs=777 status=none >"$TMP/pieces"
same "$TMP/pieces" "$TMP/whole"
tail -c 100 "$MNT/.report.json" >"$TMP/tail"
same "$TMP/tail" <(tail -c 100 "$TMP/whole")
report check "$MNT"

# Grafts: from a donor whose name needs escapes, an added one, a removed one, another type.
donor=$TMP/$(printf 'do"n\\or\nx').gguf
cp "$MODELS/clerk-Q4_K_M.gguf" "$donor"
mount_model -o ro "$donor" "$TMP/donor"
cp "$TMP/donor"/organs/blk_{1,2}_ffn_*.bin "$MNT/organs/"
cp "$MNT/organs/blk_0_ffn_up.bin" "$MNT/organs/blk_6_ffn_up.bin"
cp "$MNT/.views/spectral/organs/blk_3_ffn_up.bin" "$MNT/organs/"
ln -sf "$TMP/donor/organs/blk_4_ffn_up.bin" "$MNT/organs/"
rm "$MNT/norm/blk_5_ffn_norm.bin"
report check "$MNT"
python3 - "$MNT/.report.json" "$donor" <<'END'
import json, sys
report = json.load(open(sys.argv[1]))
of = {row["tensor"]: row for row in report["tensors"]}
graft = of["blk.1.ffn_up.weight"]["graft"]
assert graft["how"] == "copy" and graft["file"] == sys.argv[2], graft
assert graft["tensor"] == "blk.1.ffn_up.weight" and len(graft["fingerprint"]) == 32, graft
assert of["blk.3.ffn_up.weight"]["graft"]["view"] == "spectral", of["blk.3.ffn_up.weight"]
assert of["blk.4.ffn_up.weight"]["graft"]["how"] == "link"
assert of["blk.6.ffn_up.weight"]["added"] and report["model"]["added"] == 1
assert [row["tensor"] for row in report["removed"]] == ["blk.5.ffn_norm.weight"]
assert report["model"]["layer"] and report["model"]["base"].endswith("/scribe-Q4_K_M.gguf")
END
exec 7<"$MNT/.report.json" # keeps its content
echo all >"$MNT/.undo"
report check "$MNT"
grep -q '"grafted":true' <&7 || fail 'an open file has changed'
exec 7<&-
python3 - "$MNT/.report.json" "$TMP/whole" <<'END'
import json, sys
after, before = (json.load(open(path)) for path in sys.argv[1:])
after["model"]["layer"] = None
assert after == before, "not as before"
END
# A write to it is ignored.
echo x >"$MNT/.report.json"
report check "$MNT"
unmount_and_wait "$TMP/donor"
unmount_and_wait

# Every type; some values are unknown.
for model in types types-stress stories260K stories260K-q8_0; do
	mount_model -o ro "$MODELS/$model.gguf"
	report check "$MNT"
	cat "$MNT/.report.json" >"$TMP/$model.json"
	unmount_and_wait
done
mount_model -o "ro,samples=all" "$MODELS/stories260K.gguf"
report check "$MNT"
unmount_and_wait
# Figures of the values, computed without organfs.
report values "$MODELS/types.gguf" "$TMP/types.json" F32 F16 Q8_0 Q4_K
report values "$MODELS/stories260K.gguf" "$TMP/stories260K.json" F32
report values "$MODELS/stories260K-q8_0.gguf" "$TMP/stories260K-q8_0.json" Q8_0 F32
report values "$base" "$TMP/whole" Q4_K F32

# Several models, and the same from their tables.
all='scribe-Q4_K_M stories260K clerk-Q4_K_M types'
paths=() tables=()
for name in $all; do
	paths+=("$MODELS/$name.gguf") tables+=("$TMP/$name.tsv")
done
mount_daemon -o ro "${paths[@]}" "$MNT"
size=$(stat -c %s "$MNT/.report.json")
equal "$(measured)" 0 'measured by stat'
cat "$MNT/.report.json" >"$TMP/all.json"
equal "$(stat -c %s "$TMP/all.json")" "$size" 'bytes'
report models "$MNT"
for name in $all; do
	cat "$MNT/$name/.table" >"$TMP/$name.tsv"
	cat "$MNT/$name/.report.json" >"$TMP/$name.json"
	"$ORGANFS" --report --json "$TMP/$name.tsv" >"$TMP/printed"
	report same "$TMP/$name.json" "$TMP/printed"
done
unmount_and_wait
"$ORGANFS" --report --json "${tables[@]}" >"$TMP/printed"
report same "$TMP/all.json" "$TMP/printed"
"$ORGANFS" --json --report=types "${tables[@]}" >"$TMP/printed"
report same "$TMP/types.json" "$TMP/printed"
# Two models are too few for a law.
mount_daemon -o ro "${paths[@]:0:2}" "$MNT"
report models "$MNT"
unmount_and_wait
# The table is of an earlier version.
cut -f 1-20 "$TMP/types.tsv" >"$TMP/older.tsv"
"$ORGANFS" --report --json "$TMP/older.tsv" >"$TMP/printed"
python3 - "$TMP/printed" <<'END'
import json, sys
rows = json.load(open(sys.argv[1]))["tensors"]
assert all(row["min"] is None and row["zeros"] is None for row in rows)
assert any(row["theta"] for row in rows)
END
expect_fail 'no model typo' "$ORGANFS" --report=typo --json "${tables[@]}"
expect_fail 'json goes with' "$ORGANFS" --json "${paths[0]}" "$MNT"

# One name in many models of a mount, and a name that is no text.
mkdir "$TMP/several"
cp "$MODELS/stories260K.gguf" "$TMP/several/$(printf 'a "b" \377').gguf"
cp "$MODELS/stories260K-q8_0.gguf" "$TMP/several/.report.json.gguf"
cp "$MODELS/stories260K-donor.gguf" "$TMP/several/x.gguf"
mount_model -o ro "$TMP/several"
cat "$MNT/.report.json" >"$TMP/printed"
equal "$(stat -c %s "$TMP/printed")" "$(stat -c %s "$MNT/.report.json")"
python3 -m json.tool "$TMP/printed" >/dev/null || fail "$(cat "$TMP/printed")"
unmount_and_wait

# The one-liners of organfs(5), word for word.
command -v jq >/dev/null || skip 'no jq; all else was looked at'
page=$here/../../mount-helpers/organfs.5
sed -n "/^r=mnt/,/^\.Ed/p" "$page" | sed 's/\\e/\\/g; /^\.Ed/d' >"$TMP/commands"
equal "$(grep -c '^jq ' "$TMP/commands")" 5
base=$(use clerk-Q4_K_M)
mount_model -o noassemble "$base"
cp "$MNT/organs/blk_1_ffn_up.bin" "$MNT/organs/blk_3_ffn_up.bin"
ln -s "$MNT" "$TMP/mnt"
(cd "$TMP" && bash -e commands >said) || fail "$(cat "$TMP/commands")"
grep -q "^attn_q$(printf '\t')[0-9.]*$" "$TMP/said" || fail "roles: $(cat "$TMP/said")"
equal "$(grep -c '^[0-9.]* [a-z].*weight$' "$TMP/said")" 5 'the highest'
equal "$(grep -c '^{.*"Q4_K":[0-9]' "$TMP/said")" 1 'types'
equal "$(tail -n 1 "$TMP/said")" '["organs/blk_3_ffn_up.bin","blk.1.ffn_up.weight"]'
jq -e '.tensors | map(.bytes) | add > 2000000' "$MNT/.report.json" >/dev/null || fail 'jq -e'
unmount_and_wait

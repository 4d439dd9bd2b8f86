#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# organfs --report: from tables of models in any form it prints the same bytes as their mounts;
# other input gives a line with the place of the error, and no output.
. "${0%/*}/../lib.sh"

# tables_of MODEL...: make NAME.tsv and NAME.theta of each, and ranking of all.
tables_of() {
	local name paths=()
	for name; do
		paths+=("$MODELS/$name.gguf")
	done
	mount_daemon -o ro "${paths[@]}" "$MNT"
	cat "$MNT/.theta" >"$TMP/ranking"
	for name; do
		cat "$MNT/$name/.table" >"$TMP/$name.tsv"
		cat "$MNT/$name/.theta" >"$TMP/$name.theta"
		equal "$(stat -c %s "$MNT/$name/.table")" "$(stat -c %s "$TMP/$name.tsv")"
	done
	unmount_and_wait
}
report() {
	"$ORGANFS" --report "$@" >"$TMP/report" 2>"$TMP/err" || fail "$(cat "$TMP/err")"
}
quietly() {
	report "$@"
	[ ! -s "$TMP/err" ] || fail "it says $(cat "$TMP/err")"
}
# shard N LAST FIRST TABLE: make a table of tensors FIRST to LAST as of shard N; only the first has
# the facts.
shard() {
	awk -F '\t' -v OFS='\t' -v n="$1" -v first="$2" -v last="$3" '
		$1 == "table" { $4 = last - first + 1 }
		$1 == "end" { $3 = last - first + 1 }
		$1 == "fact" && n > 1 && $2 != "name" { next }
		$1 == "tensor" { $4 = n; if (++k < first || k > last) next }
		{ print }' "$4" >"${4%.tsv}-$1.tsv"
}

all='scribe-Q4_K_M stories260K clerk-Q4_K_M types stories260K-q8_0'
# shellcheck disable=SC2086
tables_of $all
tables=()
for name in $all; do
	tables+=("$TMP/$name.tsv")
	quietly "$TMP/$name.tsv"
	same "$TMP/report" "$TMP/$name.theta"
	# Other tools can read the table.
	equal "$(awk -F '\t' '$1 == "tensor" && NF != 25' "$TMP/$name.tsv")" ''
	equal "$(awk -F '\t' '/^# tensor/ { print NF }' "$TMP/$name.tsv")" 25
done
quietly "${tables[@]}"
same "$TMP/report" "$TMP/ranking"
cat "${tables[@]}" | "$ORGANFS" --report /dev/stdin >"$TMP/report"
same "$TMP/report" "$TMP/ranking"
quietly "${tables[@]}" "${tables[2]}" "${tables[@]}"
same "$TMP/report" "$TMP/ranking"
"$ORGANFS" --report=types "${tables[@]}" >"$TMP/report"
same "$TMP/report" "$TMP/types.theta"
expect_fail 'no model typo' "$ORGANFS" --report=typo "${tables[@]}"
# Tables of an earlier version lack the columns that describe values.
cut -f 1-20 "$TMP/types.tsv" >"$TMP/older.tsv"
quietly "$TMP/older.tsv"
same "$TMP/report" "$TMP/types.theta"
quietly "$TMP/older.tsv" "$TMP/types.tsv"
# The mean of θ can be computed without organfs.
equal "$(awk -F '\t' '$1 == "tensor" { s += $11; n++ } END { printf "%.2f\n", s / n }' \
	"$TMP/types.tsv")" "$(awk '/^mean tensors/ { print $3 }' "$TMP/types.theta")"

# A grafted model is marked, and a write to the table is dropped as in every θ file.
base=$(use stories260K)
mount_model -o noassemble "$base"
rm "$MNT/norm/blk_0_attn_norm.bin"
cp "$MNT/organs/blk_1_ffn_up.bin" "$MNT/organs/blk_0_ffn_up.bin"
cat "$MNT/.table" >"$TMP/grafted"
quietly "$TMP/grafted"
same "$TMP/report" "$MNT/.theta"
cp "$TMP/types.tsv" "$MNT/.table"
same "$MNT/.table" "$TMP/grafted"
unmount_and_wait
expect_fail 'grafted:3: .*another model .*stories260K.tsv' \
	"$ORGANFS" --report "$TMP/stories260K.tsv" "$TMP/grafted"

# Shards may come in any order and repeatedly.
s=$TMP/scribe-Q4_K_M
shard 1 1 20 "$s.tsv"
shard 2 21 39 "$s.tsv"
shard 3 40 57 "$s.tsv"
for order in '1 2 3' '3 1 2' '2 3 1' '3 2 1 2 3'; do
	files=()
	for n in $order; do
		files+=("$s-$n.tsv")
	done
	quietly "${files[@]}"
	same "$TMP/report" "$s.theta"
done
quietly "$s-3.tsv" "$s.tsv" "$s-1.tsv"
same "$TMP/report" "$s.theta"
# Some shards are missing.
quietly "$s-3.tsv" "$s-1.tsv"
equal "$(awk '$2 == "tensors" && $1 == "model" { print $3 }' "$TMP/report")" 38/57
equal "$(awk '/^mean tensors/ { print $6 }' "$TMP/report")" 38
quietly "$s-2.tsv" "$TMP/types.tsv" "$TMP/stories260K.tsv"
grep -q '^# scribe-Q4_K_M: only 19 of 57 tensors; not compared$' "$TMP/report" ||
	fail "$(cat "$TMP/report")"
equal "$(awk '$NF == "scribe-Q4_K_M" { print $3, $7 }' "$TMP/report")" 'nan 19'

# If a model was measured twice, the later table counts, with a message.
mount_model -o ro,samples=1000 "$MODELS/scribe-Q4_K_M.gguf"
cat "$MNT/.table" >"$TMP/few"
cat "$MNT/.theta" >"$TMP/few.theta"
unmount_and_wait
report "$s.tsv" "$TMP/few"
same "$TMP/report" "$TMP/few.theta"
grep -Eq "few:3: scribe-Q4_K_M: [0-9]+ tensors were measured otherwise before" "$TMP/err" ||
	fail "$(cat "$TMP/err")"
equal "$(wc -l <"$TMP/err")" 1
report "$TMP/few" "$s.tsv"
same "$TMP/report" "$s.theta"

# A file that is no table gives an error with the line number, and no output.
# refused LINE WORDS [FILE...]: check that.
refused() {
	local line=$1 words=$2 status=0
	shift 2
	"$ORGANFS" --report "$@" >"$TMP/report" 2>"$TMP/err" || status=$?
	equal $status 1 "$words"
	[ ! -s "$TMP/report" ] || fail "$words: it prints"
	equal "$(wc -l <"$TMP/err")" 1 "$(cat "$TMP/err")"
	grep -q "^organfs: $TMP/.*$line: .*$words" "$TMP/err" || fail "$words: $(cat "$TMP/err")"
}
t=$TMP/stories260K.tsv
end=$(wc -l <"$t")
bad=$TMP/bad.tsv
# spoil SCRIPT: edit the table.
spoil() {
	sed "$1" "$t" >"$bad"
}
head -c -1 "$t" >"$bad"
refused ":$end" 'ends within this line' "$TMP/types.tsv" "$bad"
head -n -1 "$t" >"$bad"
refused ":$((end - 1))" 'ends within .*line 3' "$bad"
head -c 5000 "$t" >"$bad"
refused '' 'ends within this line' "$bad"
: >"$bad"
refused ':1' 'no table' "$bad"
cat "$MODELS/types.gguf" >"$bad"
refused '' 'mount it and read .theta or .report.json' "$bad"
spoil '20d'
refused ":$((end - 1))" 'has 47 tensors, but announces 48' "$bad"
spoil '20s/\t[^\t]*$//'
refused ':20' 'has 25 fields, and this line 24' "$bad"
spoil '20s/$/\tx/'
refused ':20' 'has 25 fields, and this line 26' "$bad"
spoil '20s/\tok\t/\tgood\t/'
refused ':20' 'invalid measures' "$bad"
spoil '20s/\t *[0-9.]*\( *\t *[^\t]*\)\{14\}$/\t90.5\1/'
refused ':20' '' "$bad"
spoil '20s/F32/F 32/'
refused ':20' 'invalid file or type name' "$bad"
spoil '20s/\t64x[0-9]*\t/\t18446744073709551615x18446744073709551615\t/'
refused ':20' 'invalid shape' "$bad"
spoil '20s/^tensor\tstories260K/tensor\tother/'
refused ':20' 'another model' "$bad"
spoil '20s/^tensor/tensors/'
refused ':20' 'not a line' "$bad"
spoil '3s/^table\t1/table\t2/'
refused ':3' 'format 2, .*only 1' "$bad"
spoil '3s/\t48\t48/\t48\t47/'
refused ':3' 'more than its 47 tensors' "$bad"
spoil '5s/$/%zz/'
refused ':5' 'not text' "$bad"
spoil '6s/\t[0-9]*$/\t-3/'
refused ':6' 'not two numbers' "$bad"
spoil '20s/F32/Q8_0/'
refused ':20' 'another model .*shape' "$t" "$bad"
refused '' 'No such file' "$TMP/none"
mkdir "$TMP/directory"
refused '' 'Is a directory.* its files .theta and .report.json' "$TMP/directory"
spoil 's/^end.*/x\x00y/'
refused ":$end" 'NUL' "$bad"
status=0
"$ORGANFS" --report >"$TMP/report" 2>"$TMP/err" || status=$?
equal $status 2
if [ -e /dev/full ]; then
	expect_fail 'No space' eval '"$ORGANFS" --report "$t" >/dev/full'
fi

#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The report of a split model from tables of its shards, each measured by organ-stream.
. "${0%/*}/../lib.sh"

need curl flock
stream=$here/../../mount-helpers/organ-stream
shards=()
for n in 1 2 3; do
	shards+=("$MODELS/stories260K-split-0000$n-of-00003.gguf")
done
if ! "$ORGANFS" -o ro "${shards[1]}" "$MNT" 2>"$TMP/said"; then
	grep -q 'this is shard 2 of the 3' "$TMP/said" || fail "$(cat "$TMP/said")"
	skip 'a shard alone is not mounted'
fi
fusermount3 -u "$MNT"

mount_model -o ro "$MODELS/stories260K.gguf"
cat "$MNT/.theta" >"$TMP/whole"
unmount_and_wait
# All shards give one report under the model's name, in any order and from any machines.
for order in '0 1 2' '2 0 1'; do
	rm -f "$TMP"/*.tsv
	for n in $order; do
		printf '%s\tstories260K\n' "${shards[n]}" >"$TMP/list$n"
		"$stream" "$TMP/list$n" "$TMP/table$n.tsv" >"$TMP/out" || fail "$(cat "$TMP/out")"
	done
	for n in $order; do
		printf '%s\n' "$TMP/table$n.tsv"
	done | xargs "$ORGANFS" --report >"$TMP/report"
	same "$TMP/report" "$TMP/whole"
done
cat "$TMP"/table?.tsv "$TMP/table1.tsv" | "$ORGANFS" --report /dev/stdin >"$TMP/report"
same "$TMP/report" "$TMP/whole"
# One shard tells their number.
"$ORGANFS" --report "$TMP/table1.tsv" >"$TMP/report"
here_now=$(grep -c '^tensor' "$TMP/table1.tsv")
grep -q "^model tensors  *$here_now/48$" "$TMP/report" || fail "$(cat "$TMP/report")"
# Without a given name the model is called by the beginning of its files' names.
printf '%s\n' "${shards[@]}" | "$stream" - "$TMP/t.tsv" >"$TMP/out" || fail "$(cat "$TMP/out")"
equal "$(awk -F '\t' '$1 == "tensor" { print $2 }' "$TMP/t.tsv" | sort | uniq -c | tr -s ' ')" \
	' 48 stories260K-split'
"$ORGANFS" --report "$TMP/t.tsv" | sed 's/stories260K-split$/stories260K/' >"$TMP/report"
same "$TMP/report" "$TMP/whole"

# Some shards were measured together, others elsewhere: each tensor tells its shard, so that all
# come into the model's order, which decides between equal θ.
"$GGUF" synth --tensors 11 --vocab 10 --size 1M "$TMP/z.gguf"
"$GGUF" split "$TMP/z.gguf" "$TMP/z" 3
# table_of TABLE FILE: print the table of FILE's model from a mount.
table_of() {
	mount_model -o ro "$2"
	cat "$MNT/.table" >"$TMP/$1.tsv"
	cat "$MNT/.theta" >"$TMP/$1.theta"
	unmount_and_wait
}
labels() {
	awk -F '\t' '$1 == "tensor" { print $4 }' "$TMP/$1.tsv" | uniq -c | tr -s ' \n' ' '
}
table_of whole "$TMP/z.gguf"
table_of all "$TMP/z-00002-of-00003.gguf"
same "$TMP/all.theta" "$TMP/whole.theta"
mkdir "$TMP/elsewhere"
mv "$TMP/z-00002-of-00003.gguf" "$TMP/elsewhere"
table_of outer "$TMP/z-00001-of-00003.gguf"
table_of inner "$TMP/elsewhere/z-00002-of-00003.gguf"
equal "$(labels whole)" ' 11 1 '
equal "$(labels all)" ' 4 1 4 2 3 3 '
equal "$(labels outer)" ' 4 1 3 3 '
equal "$(labels inner)" ' 4 2 '
for order in 'outer inner' 'inner outer' 'inner all' 'outer all' 'all inner'; do
	for table in $order; do
		printf '%s\n' "$TMP/$table.tsv"
	done | xargs "$ORGANFS" --report >"$TMP/report"
	same "$TMP/report" "$TMP/whole.theta"
done

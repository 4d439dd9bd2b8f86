#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# awk computes the figures of the report from the tables, and common tools read θ.
. "${0%/*}/../lib.sh"

base=$(use scribe-Q4_K_M)
mount_model "$base"
cat "$MNT"/*/.theta | grep -v '^file' >"$TMP/rows"
cat "$MNT/.theta" >"$TMP/report"

# field KIND NAME NUMBER: a field of a line of the report.
field() {
	awk -v kind="$1" -v name="$2" -v n="$3" '$1 == kind && $2 == name { print $n }' \
		"$TMP/report"
}
# about A B: check that A and B are equal except for rounding.
about() {
	awk -v a="$1" -v b="$2" 'BEGIN { exit !(a - b <= 0.011 && b - a <= 0.011) }' ||
		fail "$3: $1 is not $2"
}
equal "$(field model tensors 3)" "$(wc -l <"$TMP/rows")"
equal "$(field model architecture 3)" llama
about "$(field mean tensors 3)" "$(awk '{ s += $4 } END { print s / NR }' "$TMP/rows")" mean
about "$(field mean tensors 4)" "$(awk '{ s += $5 } END { print s / NR }' "$TMP/rows")" signal
about "$(field mean elements 3)" \
	"$(awk '{ s += $3 * $4; n += $3 } END { print s / n }' "$TMP/rows")" 'weighted mean'
for class in skeleton organs embed norm; do
	grep "^$class/" "$TMP/rows" >"$TMP/class"
	awk '{ print $4 }' "$TMP/class" | sort -g >"$TMP/degrees"
	equal "$(field class $class 3)" "$(wc -l <"$TMP/degrees")" "$class"
	equal "$(field class $class 4)" "$(head -n 1 "$TMP/degrees")" "least of $class"
	about "$(field class $class 5)" "$(awk '{ s += $1 } END { print s / NR }' "$TMP/degrees")" \
		"mean of $class"
	equal "$(field class $class 6)" "$(tail -n 1 "$TMP/degrees")" "most of $class"
done
equal "$(awk '$1 == "kind" { s += $3 } END { print s }' "$TMP/report")" \
	"$(wc -l <"$TMP/rows")" kinds
equal "$(awk '$1 == "well" { print $2 }' "$TMP/report")" \
	"$(awk '{ print $4 }' "$TMP/rows" | sort -g | head -n 8)" wells
equal "$(field class nothing 3)" ''
grep -q 'does not grade' "$TMP/report" || fail 'no honest words'

cat "$MNT"/organs/*.theta | sort -g | head -n 3 >"$TMP/lowest"
equal "$(cat "$TMP/lowest")" \
	"$(grep '^organs/' "$TMP/rows" | awk '{ print $4 }' | sort -g | head -n 3)" 'sorted'
python3 -c 'import sys, xml.dom.minidom; xml.dom.minidom.parse(sys.argv[1])' "$MNT/theta.svg"
equal "$(grep -o '<title' "$MNT/theta.svg" | wc -l)" $(($(wc -l <"$TMP/rows") + 1)) 'tooltips'
unmount_and_wait

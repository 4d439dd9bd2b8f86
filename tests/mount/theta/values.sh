#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# θ and every indicator of every tensor equal an independent program's, wherever a mount shows
# them. ORGANFS_MODELS may name a directory with more models.
. "${0%/*}/../lib.sh"

need getfattr jq
checked=0
for expected in "$here"/../unit/theta-*.tsv; do
	name=${expected##*/theta-}
	name=${name%.tsv}
	for directory in "$MODELS" ${ORGANFS_MODELS:+"$ORGANFS_MODELS"}; do
		[ -f "$directory/$name.gguf" ] || continue
		mount_model -o ro "$directory/$name.gguf"
		"$GGUF" check-theta "$expected" "$MNT" || fail "$name"
		unmount_and_wait
		checked=$((checked + 1))
		break
	done
done
[ $checked -ge 2 ] || fail "only $checked models checked"

# The same weights in fewer bits have similar θ. The bounds are rounded to hundredths.
theta_of() { # from the signal, which has more digits in the tables
	mount_model -o ro "$1"
	awk '$1 != "file" { print $1 "\t" atan2($5, sqrt(1 - $5 * $5)) * 45 / atan2(1, 1) }' \
		"$MNT"/*/.theta | sort
	unmount_and_wait
}
theta_of "$MODELS/stories260K.gguf" >"$TMP/exact"
# close NAME MOST: no tensor is further from the exact one.
close() {
	theta_of "$1" >"$TMP/other"
	join -t "$(printf '\t')" "$TMP/exact" "$TMP/other" | awk -v most="$2" -v mean="${3:-$2}" '
		{ d = $2 - $3; if (d < 0) d = -d; sum += d; if (d > worst) worst = d }
		END {
			printf "%s: worst %.3f, mean %.3f\n", "'"${1##*/}"'", worst, sum / NR
			exit !(NR > 40 && worst < most + 0.005 && sum / NR < mean + 0.005)
		}' || fail "${1##*/} differs by more than $2"
}
close "$MODELS/stories260K-q8_0.gguf" 0.07
if [ -f "${ORGANFS_MODELS-}/stories260K-f16.gguf" ]; then
	close "$ORGANFS_MODELS/stories260K-f16.gguf" 0.02
	close "$ORGANFS_MODELS/stories260K-q4_0.gguf" 1.3 0.30
fi

# Sampled tensors are measured whole.
mount_model -o ro,samples=all "$MODELS/stories260K.gguf"
"$GGUF" check-theta "$here/../unit/theta-stories260K.tsv" "$MNT" || fail 'samples=all'
unmount_and_wait

#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# plain: unit tests read the same files with sanitizers
# Models that MANIFEST.tsv rejects are refused: exit 1, one sentence, no mount.
. "${0%/*}/../lib.sh"

count=0
while IFS=$'\t' read -r file expected _; do
	case $file:$expected in
	version-0x1.gguf:*) continue ;; # valid if read as version 1: see the next test
	*:'reject or '*) continue ;;
	*:reject* | *:*'>4: reject'*) ;;
	*) continue ;;
	esac
	echo "$file"
	expect_refusal "$MALFORMED/$file"
	count=$((count + 1))
done <"$MALFORMED/MANIFEST.tsv"
[ $count -gt 50 ] || fail "only $count files were tried"
no_litter "$XDG_STATE_HOME"

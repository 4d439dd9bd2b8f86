#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# plain: unit tests read the same files with sanitizers
# Models that MANIFEST.tsv leaves open are refused in one sentence, or mounted unchanged.
# timeout: 300
. "${0%/*}/../lib.sh"

while IFS=$'\t' read -r file _; do
	echo "$file"
	if "$ORGANFS" "$MALFORMED/$file" "$MNT" >"$TMP/said" 2>&1 </dev/null; then
		unmount_and_wait
		mount_model "$MALFORMED/$file"
		case $file in
		split-*) expect_fail 'No data available' cat "$MNT/model.gguf" ;;
		*)
			same "$MNT/model.gguf" "$MALFORMED/$file"
			"$GGUF" check-mount "$MALFORMED/$file" "$MNT"
			"$GGUF" check-manifest "$MALFORMED/$file" "$MNT"
			;;
		esac
		unmount_and_wait
	else
		expect_refusal "$MALFORMED/$file"
	fi
done < <(grep -vP '^file\t|\taccept' "$MALFORMED/MANIFEST.tsv" | some 12)

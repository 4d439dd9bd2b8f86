#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# plain: unit tests read the same files with sanitizers
# Models that MANIFEST.tsv accepts are mounted and read back byte for byte.
# timeout: 300
. "${0%/*}/../lib.sh"

while IFS=$'\t' read -r file _; do
	echo "$file"
	mount_model "$MALFORMED/$file"
	same "$MNT/model.gguf" "$MALFORMED/$file"
	"$GGUF" check-mount "$MALFORMED/$file" "$MNT"
	"$GGUF" check-manifest "$MALFORMED/$file" "$MNT"
	"$here/../tools/report.py" check "$MNT"
	unmount_and_wait
done < <(grep -P "\taccept" "$MALFORMED/MANIFEST.tsv" |
	grep -v "$(rounds none tensors-20k)")

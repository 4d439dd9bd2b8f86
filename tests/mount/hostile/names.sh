#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# A tensor of any name is one plain file, and no file lands elsewhere.
. "${0%/*}/../lib.sh"

"$GGUF" hostile "$TMP/hostile"
for model in "$TMP"/hostile/*.gguf; do
	echo "$model"
	mount_model "$model"
	same "$MNT/model.gguf" "$model"
	"$GGUF" check-mount "$model" "$MNT"
	"$GGUF" check-manifest "$model" "$MNT"
	"$here/../tools/report.py" check "$MNT"
	# Each slot can be filled, and its own content with another time changes nothing.
	find "$MNT" -name '*.bin' >"$TMP/files"
	while IFS= read -r file; do
		cp "$file" "$TMP/organ"
		touch -d 2001-01-01 "$TMP/organ"
		cp -p "$TMP/organ" "$file"
	done <"$TMP/files"
	same "$MNT/model.gguf" "$model"
	equal "$(wc -l <"$MNT/.grafts")" "$(wc -l <"$TMP/files")" 'lines in .grafts'
	unmount_and_wait
	same "${model%.gguf}.grafted.gguf" "$model"
done
absent /tmp/escaped
absent /etc/x
no_litter "$XDG_STATE_HOME"

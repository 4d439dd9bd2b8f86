#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Without a graft model.gguf is the base, and the tree has every tensor once. ORGANFS_MODELS may
# name a directory with more models to try.
# timeout: 300
. "${0%/*}/../lib.sh"

check_model() {
	local before
	before=$(checksum "$1")
	mount_model "$1"
	same "$MNT/model.gguf" "$1"
	"$GGUF" check-mount "$1" "$MNT"
	unmount_and_wait
	equal "$(checksum "$1")" "$before" "the base changed"
}

for model in "$MODELS"/*.gguf ${ORGANFS_MODELS:+"$ORGANFS_MODELS"/*.gguf}; do
	case $model in
	*-of-0*.gguf | *-be.gguf) continue ;;
	esac
	echo "$model"
	cp "$model" "$TMP/base.gguf"
	check_model "$TMP/base.gguf"
done
equal "$(ls -A "$TMP")" base.gguf 'an unmount without grafts wrote something'
no_litter "$XDG_STATE_HOME"

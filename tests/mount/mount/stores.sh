#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The source of a line of fstab is a name in a store: mount(8) mounts it once, by that name. With
# setuid= the store is that user's.
. "${0%/*}/../lib.sh"

need_root
with_mount_helper
with_ordinary_user
in_ollama registry.ollama.ai/library/story/260k "$MODELS/stories260K.gguf"
(HOME=$TMP/home in_ollama registry.ollama.ai/me/story/latest "$MODELS/stories260K-donor.gguf")
mkdir "$TMP/home/mnt"
chown -R $ORDINARY "$TMP/home"
printf '%s organfs ro,%s 0 0\n' "ollama:story:260k $MNT" nofail \
	"ollama:me/story $TMP/home/mnt" setuid=$ORDINARY >"$TMP/fstab"
# mount(8) does not pass HOME.
export OLLAMA_MODELS=$HOME/.ollama/models
for try in 1 2; do
	mount -a -T "$TMP/fstab" || fail "try $try"
	equal "$(findmnt -n -t fuse.organfs -o SOURCE | sort | xargs)" \
		'ollama:me/story ollama:story:260k'
done
same "$MNT/model.gguf" "$MODELS/stories260K.gguf"
as_user cat "$TMP/home/mnt/model.gguf" >"$TMP/seen" || fail "of the user"
same "$TMP/seen" "$MODELS/stories260K-donor.gguf"
umount "$MNT" "$TMP/home/mnt"

#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# A donor may be a split model, in the mount or as shards in a directory; a graft between two
# models of a mount is a reference, also after a replay.
. "${0%/*}/../lib.sh"

mkdir "$TMP/models" "$TMP/shards" "$TMP/other"
cp "$(use stories260K-donor)" "$TMP/models/base.gguf"
for i in 1 2 3; do
	mv "$(use stories260K-split-0000$i-of-00003)" "$TMP/shards"
done
split=$TMP/shards/stories260K-split-00001-of-00003.gguf
"$ORGANFS" -f -o noassemble "$TMP/models/base.gguf" "$split" "$MNT" >>"$LOGS/mnt" 2>&1 </dev/null &
DAEMON[$MNT]=$!
until_true 20 mountpoint -q "$MNT"
own=$MNT/base donors=$(echo "$MNT"/*split*)
cp "$donors/organs/blk_1_ffn_up.bin" "$own/organs/blk_2_ffn_up.bin"
cp "$donors/organs/blk_3_ffn_up.bin" "$own/organs/blk_4_ffn_up.bin"
cat "$own/.recipe"
equal "$(grep -c 'how: reference' "$own/.recipe")" 2
cp "$own/.recipe" "$TMP/other/recipe.yml"
cp "$own/model.gguf" "$TMP/whole.gguf"
echo all >"$own/.undo"

# The donor is in the same mount.
cp "$TMP/other/recipe.yml" "$own/.recipe" || fail "$(cat "$MNT/.log")"
same "$own/model.gguf" "$TMP/whole.gguf"
same "$own/.recipe" "$TMP/other/recipe.yml"
echo all >"$own/.undo"
unmount_and_wait "$MNT"

# The mount has its own model, and the shards are elsewhere.
mv "$TMP/shards" "$TMP/away"
mount_model -o noassemble,donors="$TMP/away" "$TMP/models/base.gguf"
cp "$TMP/other/recipe.yml" "$MNT/.recipe" || fail "$(cat "$MNT/.log")"
same "$MNT/model.gguf" "$TMP/whole.gguf"
kill_daemon
mount_model -o noassemble "$TMP/models/base.gguf"
same "$MNT/model.gguf" "$TMP/whole.gguf"
echo all >"$MNT/.undo"
unmount_and_wait "$MNT"

# Without a shard the donor is missing.
rm "$TMP/away/stories260K-split-00002-of-00003.gguf"
mount_model -o noassemble,donors="$TMP/away" "$TMP/models/base.gguf"
expect_fail 'Invalid argument' cp "$TMP/other/recipe.yml" "$MNT/.recipe"
log_has 'missing: stories260K-split' || fail "$(cat "$MNT/.log")"
unmount_and_wait "$MNT"

#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# plain: killed processes report nothing
# After kill -9 the next mount has every edit of metadata that close() confirmed.
. "${0%/*}/../lib.sh"

base=$(use stories260K)
m=$MNT/metadata
mount_model "$base"
echo 4096 >"$m/llama.context_length"
rm "$m/general.name"
touch "$m/my.number"
setfattr -n user.organfs.type -v int64 "$m/my.number"
echo -5 >"$m/my.number"
mv "$m/tokenizer.ggml.unknown_token_id" "$m/moved"
printf '["x", "\\udcff\\n"]' >"$TMP/list"
touch "$m/my.list"
setfattr -n user.organfs.type -v 'string[]' "$m/my.list"
cp "$TMP/list" "$m/my.list"
# The file stays open, which a shell would close between its commands.
python3 -c "
import time
with open('$m/llama.block_count', 'w') as f:
    f.write('1000')
    f.flush()
    open('$TMP/written', 'w').close()
    time.sleep(60)" 2>/dev/null &
writer=$!
until_true 20 test -e "$TMP/written"
printf 2000 >"$m/.half"
"$GGUF" edit "$base" "$TMP/expected" llama.context_length=uint32:4096 general.name= \
	my.number=int64:-5 tokenizer.ggml.unknown_token_id= moved=uint32:0 \
	'my.list=string[]:["x", "\udcff\n"]'
kill_daemon
kill "$writer"
text_of() {
	layer_sql "$XDG_STATE_HOME"/organfs/* "SELECT text FROM key WHERE name = '$1'"
}
equal "$(text_of llama.context_length)" 4096

for round in 1 2; do
	mount_model "$base"
	same "$MNT/model.gguf" "$TMP/expected"
	equal "$(getfattr --absolute-names --only-values -n user.organfs.type "$m/my.number")" int64
	absent "$m/.half"
	equal "$(wc -l <"$MNT/.grafts")" 6 "lines in .grafts, mount $round"
	log_says 'took up 6 grafts'
	kill_daemon
done

# An undone edit stays undone.
mount_model "$base"
cp "$MNT/.base/metadata/"* "$m/"
rm "$m/moved" "$m/my.number" "$m/my.list"
kill_daemon
mount_model "$base"
same "$MNT/model.gguf" "$base"

# A row of the layer that is no value is left alone, and so is the layer.
echo 5 >"$m/llama.block_count"
echo 6 >"$m/llama.block_count"
kill_daemon
layer_change "$XDG_STATE_HOME"/organfs/* "UPDATE key SET text = CAST('junk' AS BLOB)
	WHERE name = 'llama.block_count'"
mount_model "$base"
log_says 'metadata/llama.block_count is left alone'
same "$MNT/model.gguf" "$base"
pid=${DAEMON[$MNT]}
unmount
until_true 60 is_gone "$pid" || fail 'the daemon stays'
wait "$pid" && fail 'the daemon says that all is well'
unset "DAEMON[$MNT]"
absent "$TMP/stories260K.grafted.gguf"
equal "$(text_of llama.block_count)" junk

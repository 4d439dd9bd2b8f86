#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Metadata as files: every value as text, exact sizes, and model.gguf after values are written, and
# keys removed, added and renamed. A copy from .base undoes each change.
. "${0%/*}/../lib.sh"

type_of() {
	getfattr --absolute-names --only-values -n user.organfs.type "$1"
}
# changed EDIT...: model.gguf is the base with these edits.
changed() {
	"$GGUF" edit "$base" "$TMP/expected" "$@"
	same "$MNT/model.gguf" "$TMP/expected"
}

for name in clerk-Q4_K_M scribe-Q4_K_M stories260K types; do
	base=$(use $name)
	mount_model -o ro "$base"
	"$GGUF" check-metadata "$base" "$MNT/metadata"
	"$GGUF" check-metadata "$base" "$MNT/.base/metadata"
	expect_fail 'read-only' bash -c "echo x >'$MNT/metadata/general.name'"
	unmount_and_wait
done

base=$(use stories260K)
m=$MNT/metadata
mount_model "$base"
changed

# Values. A string does not include the newline of echo.
echo 4096 >"$m/llama.context_length"
echo 'another name' >"$m/general.name"
printf '1.5e-5' >"$m/llama.attention.layer_norm_rms_epsilon"
equal "$(cat "$m/llama.attention.layer_norm_rms_epsilon")" 1.5e-05
equal "$(stat -c %s "$m/general.name")" 13
edits=(llama.context_length=uint32:4096 'general.name=string:another name'
	llama.attention.layer_norm_rms_epsilon=float32:1.5e-5)
changed "${edits[@]}"
equal "$(wc -l <"$MNT/.grafts")" 3 'lines in .grafts'
grep -q "^metadata/llama.context_length	edited	uint32	-	4	" "$MNT/.grafts" ||
	fail "$(cat "$MNT/.grafts")"
grep -q '"llama.context_length": 4096' "$MNT/manifest.json" || fail 'manifest.json has it not'

# A text that is no value of the key's type is refused, and the old value stays.
for text in junk -1 4294967296 1.5 '' '5 6' true; do
	printf '%s\n' "$text" >"$TMP/text"
	expect_fail 'invalid argument' cp "$TMP/text" "$m/llama.context_length"
	log_says 'metadata/llama.context_length: refused'
done
expect_fail 'invalid argument' cp "$TMP/text" "$m/tokenizer.ggml.tokens"
changed "${edits[@]}"
# An emptied file leaves a number as it was, and makes a string empty.
: >"$m/llama.context_length"
equal "$(cat "$m/llama.context_length")" 4096
for i in 1 2 3 4 5; do
	echo "$i" >"$m/general.name"
	: >"$m/general.name"
	equal "$(cat "$m/general.name")" ''
done
edits[1]=general.name=string:
changed "${edits[@]}"

# A process that has the old value open reads it to the end.
exec 5<"$m/llama.block_count"
echo 6 >"$m/llama.block_count"
equal "$(cat <&5)" 5
exec 5<&-
echo 5 >"$m/llama.block_count"
changed "${edits[@]}"

# Keys.
rm "$m/tokenizer.ggml.seperator_token_id"
absent "$m/tokenizer.ggml.seperator_token_id"
mv "$m/tokenizer.ggml.padding_token_id" "$m/pad"
equal "$(type_of "$m/pad")" uint32
echo text >"$m/zz.added"
absent "$MNT/.base/metadata/zz.added"
edits+=(tokenizer.ggml.seperator_token_id= tokenizer.ggml.padding_token_id=
	pad=uint32:4294967295 zz.added=string:text)
changed "${edits[@]}"
echo 'a%2Fb' >"$m/a%2Fb"
changed "${edits[@]}" 'a/b=string:a%2Fb'
rm "$m/a%2Fb"
# A key that is made again has its old type.
echo 3 >"$m/tokenizer.ggml.seperator_token_id"
equal "$(type_of "$m/tokenizer.ggml.seperator_token_id")" uint32
rm "$m/tokenizer.ggml.seperator_token_id"
changed "${edits[@]}"

# Types.
touch "$m/my.number"
setfattr -n user.organfs.type -v uint32 "$m/my.number"
echo 7 >"$m/my.number"
touch "$m/my.list"
setfattr -n user.organfs.type -v 'array of string' "$m/my.list"
printf '%s' '["a", "\udcff", "\u20ac"]' >"$m/my.list"
equal "$(cat "$m/my.list")" '["a", "\udcff", "€"]'
edits+=(my.number=uint32:7 'my.list=string[]:["a", "\udcff", "\u20ac"]')
changed "${edits[@]}"
setfattr -n user.organfs.type -v i64 "$m/my.number"
expect_fail 'invalid argument' setfattr -n user.organfs.type -v bool "$m/general.architecture"
log_says 'general.architecture: refused.* bool'
expect_fail 'invalid argument' setfattr -n user.organfs.type -v float33 "$m/my.number"
setfattr -n user.organfs.type -v f32 "$m/llama.context_length"
changed "${edits[@]}" my.number=int64:7 llama.context_length=float32:4096

# The base's own value ends an edit.
rm "$m/my.number" "$m/my.list" "$m/zz.added" "$m/pad"
setfattr -n user.organfs.type -v u32 "$m/llama.context_length"
cp "$MNT/.base/metadata/"* "$m/"
equal "$(cat "$MNT/.grafts")" ''
same "$MNT/model.gguf" "$base"
unmount_and_wait
absent "$TMP/stories260K.grafted.gguf"

# Keys of the container cannot be changed.
"$GGUF" variant --align 64 "$base" "$TMP/aligned.gguf"
mount_model "$TMP/aligned.gguf"
equal "$(cat "$m/general.alignment")" 64
expect_fail 'permission denied' cp "$m/llama.block_count" "$m/general.alignment"
expect_fail 'not permitted' rm -f "$m/general.alignment"
expect_fail 'not permitted|denied' mv "$m/general.alignment" "$m/x"
expect_fail 'not permitted|denied' mv -f "$m/general.name" "$m/general.alignment"
expect_fail 'not permitted|denied' cp "$m/llama.block_count" "$m/split.count"
same "$MNT/model.gguf" "$TMP/aligned.gguf"

# An unmount assembles a model with changed metadata only.
echo 8 >"$m/llama.attention.head_count"
"$GGUF" edit "$TMP/aligned.gguf" "$TMP/expected" llama.attention.head_count=uint32:8
same "$MNT/model.gguf" "$TMP/expected"
echo 9 >"$m/llama.attention.head_count"
"$GGUF" edit "$TMP/aligned.gguf" "$TMP/expected" llama.attention.head_count=uint32:9
unmount_and_wait
same "$TMP/aligned.grafted.gguf" "$TMP/expected"
no_litter "$XDG_STATE_HOME"

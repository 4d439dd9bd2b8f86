#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# A merge lies beneath grafts and adapters, whose undo shows it again. The merge outlives the
# daemon; if a model of it is missing, its tensors are unreadable, and never the base's.
. "${0%/*}/../lib.sh"

base=$(use scribe-Q4_K_M) donor=$(use clerk-Q4_K_M)
cd "$TMP"
up=organs/blk_0_ffn_up
printf 'merge_method: linear\nmodels:\n- model: scribe-Q4_K_M\n  parameters: {weight: 1}\n' >m.yml
printf -- '- {model: clerk-Q4_K_M, parameters: {weight: 1}}\n' >>m.yml

type_of() {
	getfattr --only-values -n user.organfs.type "$MNT/$1"
}

mount_model -o noassemble "$base"
absent "$MNT/.merge"
expect_fail 'no such file' rm "$MNT/.merge"
exec 3<"$MNT/$up.bin"
cp m.yml "$MNT/.merge"
# An open file keeps its content.
cmp /dev/fd/3 "$MNT/.base/$up.bin"
exec 3<&-
same m.yml "$MNT/.merge"
differ "$MNT/$up.bin" "$MNT/.base/$up.bin"
cp "$MNT/model.gguf" merged.gguf
# The merge has one line, and there is no graft.
tensors=$(ls "$MNT"/*/*.bin | wc -l)
equal "$(cut -f 1-4 "$MNT/.grafts" | tr '\t' ' ')" ".merge merge linear $tensors"
equal "$(cat "$MNT/.undo")" '# nothing is changed'
grep -q '^ok	merge	linear of 2 models' "$MNT/.check" || fail "$(cat "$MNT/.check")"
grep -q '^ok	lineage	merge: clerk-Q4_K_M.gguf: same base' "$MNT/.check" ||
	fail "$(cat "$MNT/.check")"

# Grafts, also of the base's own tensor, and removals.
cp "$MNT/.base/$up.bin" "$MNT/$up.bin"
same "$MNT/$up.bin" "$MNT/.base/$up.bin"
cp "$MNT/organs/blk_1_ffn_up.bin" "$MNT/organs/blk_2_ffn_up.bin"
rm "$MNT/organs/blk_3_ffn_up.bin"
equal "$(cut -f 2 "$MNT/.grafts" | tr '\n' ' ')" 'merge reference copy removed '
differ "$MNT/model.gguf" merged.gguf
cp "$MNT/model.gguf" grafted.gguf

# After a SIGKILL, then without the model, which comes back.
kill_daemon
# If the disk does not answer for seconds, a model counts as missing until the next look.
is_grafted() {
	ls "$MNT/organs" >"$TMP/ls"
	cmp -s "$MNT/model.gguf" grafted.gguf 2>"$TMP/said"
}
mount_model -o noassemble "$base"
until_true 60 is_grafted || fail "after the kill: $(cat "$MNT/.log")"
same m.yml "$MNT/.merge"
unmount_and_wait
mv "$donor" away.gguf
mount_model -o noassemble "$base"
log_says '\.merge: .*cannot be read: .*no file ".*/clerk-Q4_K_M.gguf"'
expect_fail 'input/output error' cat "$MNT/organs/blk_1_ffn_up.bin"
expect_fail 'input/output error' cat "$MNT/model.gguf"
same "$MNT/$up.bin" "$MNT/.base/$up.bin"
grep -q '^impossible	merge' "$MNT/.check" || fail "$(cat "$MNT/.check")"
grep -q '^\.merge	broken merge	linear' "$MNT/.grafts" || fail "$(cat "$MNT/.grafts")"
expect_fail 'i/o error|input/output' sh -c "echo x.gguf >'$MNT/.assemble'"
absent x.gguf
mv away.gguf "$donor"
until_true 60 is_grafted || fail "the model is back: $(cat "$MNT/.log")"

# Another model in its place is merged only with a message.
unmount_and_wait
mv "$donor" away.gguf
cp "$base" "$donor"
mount_model -o noassemble "$base"
log_says '\.merge: .*cannot be read: .*/clerk-Q4_K_M.gguf is another model'
expect_fail 'input/output error' cat "$MNT/organs/blk_1_ffn_up.bin"
cp "$MNT/.merge" same.yml
same m.yml same.yml
mv away.gguf "$donor"
until_true 60 is_grafted || fail "another model was there: $(cat "$MNT/.log")"

# After an undo the merged content shows again; an adapter covers it.
echo all >"$MNT/.undo"
same "$MNT/model.gguf" merged.gguf
"$LORA" make "$base" style.gguf 'blk.0.ffn_up.weight'
ln -s "$TMP/style.gguf" "$MNT/adapters/"
equal "$(getfattr --only-values -n user.organfs.graft "$MNT/$up.bin")" merged
differ "$MNT/model.gguf" merged.gguf
rm "$MNT/adapters/style.gguf"
same "$MNT/model.gguf" merged.gguf
rm "$MNT/.merge"
absent "$MNT/.merge"
same "$MNT/model.gguf" "$base"
[ ! -s "$MNT/.grafts" ] || fail "$(cat "$MNT/.grafts")"
mv m.yml "$MNT/.merge"
absent m.yml
same "$MNT/model.gguf" merged.gguf
rm "$MNT/.merge"
cp "$MNT/organs/blk_1_ffn_up.bin" "$MNT/organs/blk_2_ffn_up.bin"
cp "$MNT/.recipe" recipe.yml
echo all >"$MNT/.undo"
printf 'merge_method: passthrough\nmodels: [{model: clerk-Q4_K_M}]\n' >"$MNT/.merge"
# A recipe without that merge is refused over it.
expect_fail 'invalid argument' cp recipe.yml "$MNT/.recipe"
log_says '\.recipe: .*the model is changed already'
rm "$MNT/.merge"
unmount_and_wait
mount_model -o noassemble "$base"
same "$MNT/model.gguf" "$base"
unmount_and_wait

# Equal bytes are the same model, even if the base's file has them by now.
cp "$base" copy.gguf
mount_model -o noassemble,fresh "$base"
sed 's/model: scribe-Q4_K_M/model: copy/' same.yml >"$MNT/.merge"
cp "$MNT/model.gguf" merged.gguf
unmount_and_wait
ln -f "$base" copy.gguf
mount_model -o noassemble "$base"
same "$MNT/model.gguf" merged.gguf
rm "$MNT/.merge"
unmount_and_wait

# If the layer's record of a merge is damaged, the base never takes its place.
mount_model -o "noassemble,layer=$TMP/layer" "$base"
printf 'merge_method: passthrough\nmodels: [{model: clerk-Q4_K_M}]\n' >"$MNT/.merge"
unmount_and_wait
cp "$TMP/layer/layer.db" kept
config=$(layer_sql "$TMP/layer" 'SELECT text FROM merge' | grep '^config ')
layer_change "$TMP/layer" "UPDATE merge SET text = replace(text, '$config', 'config 9')"
expect_refusal "$base" "noassemble,layer=$TMP/layer"
status=0
"$ORGANFS" -o "ro,layer=$TMP/layer" "$base" "$MNT" 2>said || status=$?
equal $status 1 "$(cat said)"
grep -q 'the merge in its layer cannot be read: line [0-9].*to go on without it: ' said ||
	fail "$(cat said)"
sed 's/.*to go on without it: //' said | sh
mount_model -o "ro,layer=$TMP/layer" "$base"
same "$MNT/model.gguf" "$base"
unmount_and_wait
mv kept "$TMP/layer/layer.db"
mount_model -o "ro,layer=$TMP/layer" "$base"
same "$MNT/organs/blk_0_ffn_up.bin" <("$GGUF" organ "$donor" blk.0.ffn_up.weight /dev/stdout)
unmount_and_wait

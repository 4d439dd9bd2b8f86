#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Slices stack more or fewer blocks than the base has; a configuration is mounted in a model's
# place, also read-only; a merge into one of several models has that model's name.
. "${0%/*}/../lib.sh"

base=$(use scribe-Q4_K_M) donor=$(use clerk-Q4_K_M)
cd "$TMP"
mkdir configs

# slices FROM TO FROM TO: blocks of the base, then of the donor.
slices() {
	printf 'merge_method: passthrough\nslices:\n'
	printf -- '- sources: [{model: ../scribe-Q4_K_M, layer_range: [%d, %d]}]\n' "$1" "$2"
	printf -- '- sources: [{model: ../clerk-Q4_K_M, layer_range: [%d, %d]}]\n' "$3" "$4"
}

slices 0 4 2 6 >configs/eight.yml
slices 0 2 5 6 >configs/three.yaml
mount_model -o ro configs/eight.yml
equal "$(cat "$MNT/metadata/llama.block_count")" 8
cp -r "$MNT/organs" organs
cp "$MNT/model.gguf" eight.gguf
expect_fail 'read-only' rm "$MNT/.merge"
unmount_and_wait
mount_model -o ro,fresh "$donor"
# FROM TO: a block of the donor whose organs differ only in the header.
for blocks in '2 4' '5 7'; do
	tail -c 10000 "$MNT/organs/blk_${blocks% *}_ffn_up.bin" >from
	tail -c 10000 "organs/blk_${blocks#* }_ffn_up.bin" | cmp - from
done
unmount_and_wait
mount_model -o ro,fresh eight.gguf
for organ in organs/*.bin; do
	same "$organ" "$MNT/$organ"
done
! grep -E '^(risky|impossible)' "$MNT/.check" || fail 'the written model does not fit together'
unmount_and_wait

# A graft in a block that the base lacks stays with the merge.
mount_model -o noassemble configs/eight.yml
rm "$MNT/organs/blk_7_ffn_up.bin"
cp "$MNT/organs/blk_0_ffn_up.bin" "$MNT/organs/blk_6_ffn_up.bin"
cp "$MNT/model.gguf" changed.gguf
kill_daemon
mount_model -o noassemble configs/eight.yml
absent "$MNT/organs/blk_7_ffn_up.bin"
same "$MNT/model.gguf" changed.gguf
echo all >"$MNT/.undo"
same "$MNT/model.gguf" eight.gguf
# The merge has fewer blocks, and none of the added ones.
cp configs/three.yaml "$MNT/.merge"
equal "$(cat "$MNT/metadata/llama.block_count")" 3
equal "$(ls "$MNT/organs" | grep -c 'ffn_up.bin')" 3
cp "$MNT/model.gguf" three.gguf
rm "$MNT/.merge"
same "$MNT/model.gguf" "$base"
unmount_and_wait
mount_model -o ro configs/three.yaml
same "$MNT/model.gguf" three.gguf
unmount_and_wait

echo 'merge_method: none' >configs/bad.yml
expect_refusal configs/bad.yml
sed 's/clerk/nobody/' configs/eight.yml >configs/gone.yml
status=0
"$ORGANFS" configs/gone.yml "$MNT" >said 2>&1 || status=$?
equal $status 1
grep -q 'line 4, column .*there is no file' said || fail "$(cat said)"

"$ORGANFS" -o ro -f "$base" "$donor" "$MNT" >>"$LOGS/mnt" 2>&1 </dev/null &
DAEMON[$MNT]=$!
until_true 20 is_up "$MNT"
unmount_and_wait
"$ORGANFS" -o noassemble -f "$base" "$donor" "$MNT" >>"$LOGS/mnt" 2>&1 </dev/null &
DAEMON[$MNT]=$!
until_true 20 is_up "$MNT"
printf 'merge_method: passthrough\nmodels: [{model: clerk-Q4_K_M}]\n' >"$MNT/scribe-Q4_K_M/.merge"
absent "$MNT/clerk-Q4_K_M/.merge"
same "$MNT/scribe-Q4_K_M/organs/blk_0_ffn_up.bin" "$MNT/clerk-Q4_K_M/organs/blk_0_ffn_up.bin"
unmount_and_wait

# based [BASE OF ALL], then of each slice: a slice's own base model wins over the configuration's.
based() {
	printf 'merge_method: task_arithmetic\nparameters: {weight: 0.4}\n%s\nslices:\n' "$1"
	for range in '[0, 2]' '[2, 6]'; do
		printf -- '- {%s sources: [{model: scribe-Q4_K_M, layer_range: %s}, ' "$2" "$range"
		printf '{model: clerk-Q4_K_M, layer_range: %s}]}\n' "$range"
	done
}
mount_model -o noassemble "$base"
based 'base_model: clerk-Q4_K_M' '' >of-all.yml
based '' 'base_model: clerk-Q4_K_M,' >of-slices.yml
based 'base_model: scribe-Q4_K_M' 'base_model: clerk-Q4_K_M,' >of-both.yml
cp of-all.yml "$MNT/.merge"
cp "$MNT/model.gguf" of-all.gguf
for config in of-slices.yml of-both.yml; do
	cp "$config" "$MNT/.merge"
	same "$MNT/model.gguf" of-all.gguf
done
based 'base_model: scribe-Q4_K_M' '' >"$MNT/.merge"
differ "$MNT/model.gguf" of-all.gguf
unmount_and_wait

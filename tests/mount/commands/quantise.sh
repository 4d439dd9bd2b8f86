#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# organfs --quantise writes a model in chosen types without a mount. The bytes equal
# llama-quantize's, and the file equals model.gguf of a mount with the same lines in .types.
# Refused lines and targets leave nothing, nor does an interrupted command.
. "${0%/*}/../lib.sh"

need xxhsum script
[ -x "$FAULTY" ] || skip "$FAULTY is not built"
cd "$TMP"
cp "$here/../models/scribe-f16-tensors.gguf" f16.gguf
mkdir out layer

# quantise LINES [OPTION...] MODEL FILE: run it.
quantise() {
	local lines=$1
	shift
	printf "$lines\n" | "$ORGANFS" --quantise - "$@"
}

# One line for all tensors is `llama-quantize --pure`.
mount_model -o noassemble f16.gguf
for type in $(ls "$MNT/.views/types" | grep -vx -e iq3_xxs -e iq1_m); do
	quantise "* $type" f16.gguf "out/$type.gguf" 2>said || fail "$type: $(cat said)"
	echo "* $type" >"$MNT/.types"
	same "$MNT/model.gguf" "out/$type.gguf"
done
unmount_and_wait
equal "$(ls out | wc -l)" 22
same out/f16.gguf f16.gguf
mount_model -o ro out
while IFS=$'\t' read -r importance type tensor _ bytes hash; do
	[ "$importance" = no ] || continue
	name=${tensor%.weight}
	organ=$(echo "$MNT/$type/"*"/${name//./_}.bin")
	equal "$(tail -c "$bytes" "$organ" | xxhsum -H2 | cut -d ' ' -f 1)" "$hash" "$type $tensor"
	equal "$(getfattr --absolute-names --only-values -n user.organfs.type "$organ")" "${type^^}"
done < <(tail -n +2 "$here/../unit/golden_quantise.tsv" | some 70)
unmount_and_wait

# An importance matrix works too, for types with the same encoder.
matrix=$TMP/matrix.gguf
cp "$here/../models/scribe-imatrix.gguf" matrix.gguf
mkdir weighted
mount_model -o noassemble f16.gguf
ln -s "$matrix" "$MNT/.imatrix"
for type in q4_k iq4_xs q5_0; do
	quantise "* $type" --imatrix=matrix.gguf f16.gguf "weighted/$type.gguf" 2>said ||
		fail "$type: $(cat said)"
	echo "* $type" >"$MNT/.types"
	same "$MNT/model.gguf" "weighted/$type.gguf"
	differ "weighted/$type.gguf" "out/$type.gguf"
done
# Patterns skip the embedding, for which the matrix lacks weights.
for type in iq3_xxs iq1_m; do
	lines="* $type\nembed/* q4_k"
	quantise "$lines" --imatrix=matrix.gguf f16.gguf "needing-$type.gguf" 2>said ||
		fail "$type: $(cat said)"
	printf "$lines\n" >"$MNT/.types"
	same "$MNT/model.gguf" "needing-$type.gguf"
done
unmount_and_wait
mount_model -o ro weighted
while IFS=$'\t' read -r importance type tensor _ bytes hash; do
	name=${tensor%.weight}
	organ=$(echo "$MNT/$type/"*"/${name//./_}.bin")
	[ "$importance" = yes ] && [ -e "$organ" ] || continue
	equal "$(tail -c "$bytes" "$organ" | xxhsum -H2 | cut -d ' ' -f 1)" "$hash" "$type $tensor"
done < <(tail -n +2 "$here/../unit/golden_quantise.tsv")
unmount_and_wait

# A layer's matrix is in force, and -o lineage adds the recipe as in a mount.
mkdir links
mount_model -o "layer=$TMP/links,lineage" f16.gguf
ln -s "$matrix" "$MNT/.imatrix"
cp "$MNT/model.gguf" mounted.gguf
unmount_and_wait
"$ORGANFS" --pack -o "layer=$TMP/links,lineage" f16.gguf packed.gguf 2>said || fail "$(cat said)"
same packed.gguf mounted.gguf
mount_model -o "layer=$TMP/links,lineage" f16.gguf
echo '* q4_k' >"$MNT/.types"
cp "$MNT/model.gguf" mounted.gguf
echo 'all' >"$MNT/.undo"
ln -s "$matrix" "$MNT/.imatrix"
unmount_and_wait
quantise '* q4_k' -o "layer=$TMP/links,lineage" f16.gguf packed.gguf 2>said || fail "$(cat said)"
same packed.gguf mounted.gguf
"$ORGANFS" --recipe packed.gguf >recipe
grep -q 'type: Q4_K' recipe || fail "$(cat recipe)"
mv matrix.gguf away.gguf
expect_fail '.imatrix: .*No such file' quantise '* q4_k' -o "layer=$TMP/links" f16.gguf new.gguf
absent new.gguf
mv away.gguf matrix.gguf

# A file for --tensor-type-file, with a comment, works unchanged. Norms stay; general.file_type
# follows matrices that agree.
base=$(use scribe-Q4_K_M)
printf '%s\n' '# all' 'attn_[qk]\.weight=q5_0 blk\.\d\.ffn_down=q5_0' '.*=q5_0' >types
"$ORGANFS" --quantise types "$base" q5_0.gguf 2>said || fail "$(cat said)"
grep -q '^organfs: types: [0-9]* tensors are named$' said || fail "$(cat said)"
grep -q '^organfs: assembled: q5_0.gguf: ' said || fail "$(cat said)"
equal "$(wc -l <said)" 2
mount_model -o noassemble,fresh "$base"
cat types >"$MNT/.types"
same "$MNT/model.gguf" q5_0.gguf
unmount_and_wait
mount_model -o ro q5_0.gguf
equal "$(cat "$MNT/metadata/general.file_type")" 8
equal "$(grep -v ' Q5_0$' "$MNT/.types" | grep -Ev 'norm.* F32$')" ''
unmount_and_wait

# The file has the grafts of a layer, in the layer's types where no line names them; the layer
# stays as it is.
up=organs/blk_1_ffn_up.bin
mount_model -o "layer=$TMP/layer" "$base"
cp "$MNT/organs/blk_2_ffn_up.bin" "$MNT/$up"
echo 'organs/blk_3_ffn_up q8_0' >"$MNT/.types"
cat "$MNT/.types" >before
unmount_and_wait
quantise 'ffn_down=q6_k' -o "layer=$TMP/layer" "$base" grafted.gguf 2>said || fail "$(cat said)"
mount_model -o "layer=$TMP/layer" "$base"
same "$MNT/.types" before
echo 'ffn_down=q6_k' >"$MNT/.types"
same "$MNT/model.gguf" grafted.gguf
unmount_and_wait

# refused PATTERN LINES [OPTION...] MODEL FILE: it fails with status 1 and one line, beside the one
# that counts tensors, and FILE stays.
refused() {
	local pattern=$1 status=0 target=${*: -1} before=
	shift
	[ ! -e "$target" ] || before=$(checksum "$target")
	quantise "$@" >said 2>&1 || status=$?
	equal $status 1 "$*: $(cat said)"
	equal "$(grep -vc ' named$' said)" 1 "$(cat said)"
	grep -Eq -- "$pattern" said || fail "$* says: $(cat said)"
	[ -n "$before" ] || absent "$target"
	[ -z "$before" ] || equal "$(checksum "$target")" "$before"
}
left() {
	find . -name '.*' ! -name .
}
refused 'standard input: refused: "organs/none": there is no such tensor' 'organs/none q8_0' \
	f16.gguf new.gguf
refused '"q9": ggml has no such type' '* q9' f16.gguf new.gguf
refused 'the type has no encoder' '* iq2_xs' f16.gguf new.gguf
refused 'no encoder for IQ2_XS' 'skeleton/blk_0_attn_q iq2_xs' f16.gguf new.gguf
refused 'input: refused: "iq1_m": the type needs an importance matrix: .*--imatrix=FILE' '* iq1_m' \
	f16.gguf new.gguf
refused 'IQ1_M needs an importance matrix that has weights for token_embd.weight' \
	'embed/token_embd iq1_m' --imatrix=matrix.gguf f16.gguf new.gguf
refused 'standard input: .* NUL byte' '*\0q8_0' f16.gguf new.gguf
refused 'none.gguf: ' '* q8_0' none.gguf new.gguf
refused 'the target is the base' '* q8_0' -f f16.gguf f16.gguf
for matrix in none f16.gguf types; do
	refused "/$matrix: no importance matrix for the model: " '* q8_0' "--imatrix=$matrix" \
		f16.gguf new.gguf
done
refused 'matrix.gguf: ' '* q8_0' -f --imatrix=matrix.gguf f16.gguf matrix.gguf
expect_fail 'none: No such file' "$ORGANFS" --quantise none f16.gguf new.gguf
expect_fail 'out: Is a directory' "$ORGANFS" --quantise out f16.gguf new.gguf
head -c 1048577 /dev/zero | tr '\0' '#' >long
expect_fail 'long: there are more than 1048576 bytes' "$ORGANFS" --quantise long f16.gguf new.gguf
echo precious >old.gguf
refused 'the target exists.* -f to --pack' '* q8_0' f16.gguf old.gguf
equal "$(cat old.gguf)" precious
quantise '* q8_0' -f f16.gguf old.gguf 2>/dev/null || fail 'not replaced with -f'
same old.gguf out/q8_0.gguf
absent new.gguf
equal "$(left)" ''

# Shards are read as one model, and can be written; a missing one makes the model incomplete.
cp "$here"/../models/stories260K-split-* .
split=stories260K-split-00002-of-00003.gguf
quantise '* q8_0' "$split" joined.gguf 2>said || fail "$(cat said)"
quantise '* q8_0' "$(use stories260K)" whole.gguf 2>said || fail "$(cat said)"
mount_model -o ro joined.gguf
cat "$MNT/.types" >joined
unmount_and_wait
mount_model -o ro whole.gguf
same "$MNT/.types" joined
unmount_and_wait
quantise '* q8_0' "$split" 'part-%05d-of-%05d.gguf split=200K' 2>said || fail "$(cat said)"
exists part-00001-of-00003.gguf
rm stories260K-split-00003-of-00003.gguf
expect_fail 'failed: new.gguf: the model lacks stories260K-split-00003' quantise '* q8_0' "$split" \
	new.gguf
absent new.gguf

# A terminal shows the progress in a line. Ctrl-C then leaves nothing.
export ORGANFS_FAULT=fsync:1:hold+:$TMP/held ORGANFS_FAULT_LOG=$TMP/arrived
hold
echo '* q8_0' >types
script -qefc "$(printf '%q ' "$FAULTY" --quantise types f16.gguf new.gguf)" typescript \
	>/dev/null </dev/null &
shell=$!
until_true 60 grep -aqsE 'f16: 100 %, [0-9.]+ of [0-9.]+ [kM]B' typescript ||
	late "no line: $(cat -v typescript)"
release
wait $shell || fail "$(cat -v typescript)"
same new.gguf out/q8_0.gguf
rm new.gguf arrived
is_taken() {
	grep -q '^ShdPnd:\s*0*$' /proc/$command/status
}
# Release one piece of the write.
has_ended() {
	hold
	is_gone $command
}
export ORGANFS_FAULT=pwrite64:1:hold+:$TMP/held
hold
at_terminal "$FAULTY" --quantise types f16.gguf new.gguf 2>said &
command=$!
until_true 60 have_arrived 1 || late 'no byte is written'
kill -INT $command
until_true 60 is_taken || late 'the signal is not taken'
until_true 60 has_ended || late 'it goes on'
status=0
wait $command || status=$?
equal $status 1 "$(cat said)"
grep -q 'new.gguf: interrupted; the target is as it was' said || fail "$(cat said)"
absent new.gguf
equal "$(left)" ''

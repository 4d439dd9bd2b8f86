#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# .imatrix links to an importance matrix: types are encoded with its weights, as by llama-quantize,
# in views, chosen types and model.gguf, until the link is removed.
. "${0%/*}/../lib.sh"

need xxhsum setfattr
base=$TMP/scribe.gguf
matrix=$TMP/scribe-imatrix.gguf
cp "$here/../models/scribe-f16-tensors.gguf" "$base"
cp "$here/../models/scribe-imatrix.gguf" "$matrix"
mount_model -o noassemble "$base"
types=$MNT/.views/types
up=organs/blk_2_ffn_up.bin
cp "$types/q4_k/$up" "$TMP/plain"
loss() {
	awk -F '\t' -v f="$up" '$1 == f { print $5 + 0 }' "$types/q4_k/loss.tsv"
}
without=$(loss)
cp "$MNT/organs/.theta" "$TMP/table"
cp "$MNT/theta.svg" "$TMP/theta.svg"
expect_fail 'no such attribute' getfattr -n user.organfs.importance "$MNT/$up"
# Two types exist only with weights.
for type in iq3_xxs iq1_m; do
	equal "$(find "$types/$type" -type f -name '*.bin')" ''
	absent "$types/$type/$up"
	equal "$(wc -l <"$types/$type/loss.tsv")" 1
	expect_fail 'invalid argument' setfattr -n user.organfs.type -v $type "$MNT/$up"
	log_says "$up: type refused: ${type^^} needs an importance matrix that has weights for \
blk.2.ffn_up.weight: ln -s imatrix.gguf MNT/.imatrix"
	for slots in "$up" '*'; do
		expect_fail 'invalid argument' bash -c "echo '$slots $type' >'$MNT/.types'"
	done
	log_says "\"$type\": the type needs an importance matrix: ln -s imatrix.gguf MNT/.imatrix"
done

ln -s "$matrix" "$MNT/.imatrix"
equal "$(readlink "$MNT/.imatrix")" "$matrix"
! ls -A "$MNT" | grep -q imatrix || fail '.imatrix is listed'
equal "$(cut -f 1,2,5 "$MNT/.grafts")" ".imatrix	importance	$(stat -c %s "$matrix")"
while IFS=$'\t' read -r importance type tensor _ bytes hash; do
	name=${tensor%.weight}
	organ=$(echo "$types/$type/"*"/${name//./_}.bin")
	[ "$importance" = yes ] && [ -e "$organ" ] || continue
	equal "$(tail -c "$bytes" "$organ" | xxhsum -H2 | cut -d ' ' -f 1)" "$hash" \
		"$type $tensor"
done < <(tail -n +2 "$here/../unit/golden_quantise.tsv" | some 40)
while IFS=$'\t' read -r _ type tensor _ bytes hash; do
	name=${tensor%.weight}
	organ=$(echo "$types/$type/"*"/${name//./_}.bin")
	# The matrix has no weights for the embedding.
	if [ $name = token_embd ]; then
		absent "$types/$type/embed/$name.bin"
		continue
	fi
	equal "$(tail -c "$bytes" "$organ" | xxhsum -H2 | cut -d ' ' -f 1)" "$hash" \
		"$type $tensor"
done < <(grep -E $'^yes\t(iq3_xxs|iq1_m)\t' "$here/../unit/golden_quantise.tsv")
equal "$(wc -l <"$types/iq3_xxs/loss.tsv")" 7
python3 -c 'import sys; assert float(sys.argv[1]) < float(sys.argv[2])' "$(loss)" "$without" ||
	fail "the weighted error is $(loss), not below $without"
mean=$(getfattr --absolute-names --only-values -n user.organfs.importance "$MNT/$up")
python3 -c 'import sys; assert float(sys.argv[1]) > 0' "$mean" || fail "importance: $mean"
# Tables and the picture show it too, while there is a matrix.
equal "$(head -n 1 "$MNT/organs/.theta" | cut -f 16)" importance
equal "$(awk -F '\t' -v f="$up" '$1 == f { print $16 + 0 }' OFMT=%.9g "$MNT/organs/.theta")" "$mean"
equal "$(awk -F '\t' '/token_embd/ { print $16 }' "$MNT/embed/.theta")" '             nan'
equal "$(stat -c %s "$MNT/organs/.theta")" "$(wc -c <"$MNT/organs/.theta")"
grep -q '^importance  *[0-9]' "$MNT/theta.svg" || fail 'theta.svg has no importance'
same "$MNT/.base/theta.svg" "$TMP/theta.svg"

# A chosen type uses the weights, also at the next mount; a reader keeps its bytes.
cp "$types/q4_k/$up" "$TMP/weighted"
differ "$TMP/weighted" "$TMP/plain"
setfattr -n user.organfs.type -v q4_k "$MNT/$up"
same "$MNT/$up" "$TMP/weighted"
cp "$MNT/model.gguf" "$TMP/expected.gguf"
cat "$MNT/.recipe" >"$TMP/recipe"
kill_daemon
mount_model -o noassemble "$base"
same "$MNT/model.gguf" "$TMP/expected.gguf"
# A slot with a longer name than its organ's has the organ's header.
cp "$MNT/.base/$up" "$MNT/organs/blk_1000_ffn_up.bin"
long=$types/q4_k/organs/blk_1000_ffn_up.bin
same "$long" "$TMP/plain"
equal "$(stat -c %s "$long")" "$(stat -c %s "$TMP/plain")"
rm "$MNT/organs/blk_1000_ffn_up.bin"
exec 3<"$types/q4_k/$up" 4<"$MNT/$up"
rm "$MNT/.imatrix"
absent "$MNT/.imatrix"
cat <&3 >"$TMP/held"
same "$TMP/held" "$TMP/weighted"
cat <&4 >"$TMP/held"
same "$TMP/held" "$TMP/weighted"
exec 3<&- 4<&-
same "$types/q4_k/$up" "$TMP/plain"
same "$MNT/$up" "$TMP/plain"

# The recipe has it, and .undo removes it.
echo all >"$MNT/.undo"
same "$MNT/model.gguf" "$base"
equal "$(loss)" "$without"
same "$MNT/organs/.theta" "$TMP/table"
same "$MNT/theta.svg" "$TMP/theta.svg"
cat "$TMP/recipe" >"$MNT/.recipe"
same "$MNT/model.gguf" "$TMP/expected.gguf"
echo .imatrix >"$MNT/.undo"
same "$MNT/$up" "$TMP/plain"

echo all >"$MNT/.undo"

# A type that needs the matrix keeps it in force, over mounts, until the choice is reverted.
ln -s "$matrix" "$MNT/.imatrix"
cp "$types/iq3_xxs/$up" "$TMP/needing"
expect_fail 'invalid argument' bash -c "echo embed/token_embd iq3_xxs >'$MNT/.types'"
log_says 'IQ3_XXS needs an importance matrix that has weights for token_embd.weight'
printf '%s\n' '* iq3_xxs' >"$MNT/.types"
log_says '1 tensor named by patterns keeps the type'
equal "$(grep -c IQ3_XXS "$MNT/.types")" 6
printf '%s\n' organs skeleton embed >"$MNT/.undo"
setfattr -n user.organfs.type -v iq3_xxs "$MNT/$up"
same "$MNT/$up" "$TMP/needing"
stays() {
	expect_fail 'device or resource busy' rm "$MNT/.imatrix"
	log_says "\.imatrix: cannot remove: IQ3_XXS is chosen for $up and needs weights of the \
matrix"
	for word in .imatrix adapters 'organs/blk_5_ffn_down.bin\n.imatrix'; do
		printf "$word\n" >"$TMP/words"
		expect_fail 'invalid argument' cp "$TMP/words" "$MNT/.undo"
	done
	log_says "\.undo: refused: \.imatrix: IQ3_XXS is chosen for $up"
	same "$MNT/$up" "$TMP/needing"
}
stays
cp "$MNT/model.gguf" "$TMP/expected.gguf"
cat "$MNT/.recipe" >"$TMP/recipe"
cat "$MNT/.types" >"$TMP/types"
kill_daemon
mount_model -o noassemble "$base"
same "$MNT/model.gguf" "$TMP/expected.gguf"
stays
# A matrix without the slot's weights cannot replace it, now or at the next mount.
sed 's/blk\.2\.ffn_up/blk.9.ffn_up/g' "$matrix" >"$TMP/lacking.gguf"
expect_fail 'not permitted' ln -sfn "$TMP/lacking.gguf" "$MNT/.imatrix"
log_says "\.imatrix: refused: IQ3_XXS is chosen for $up and needs weights of the matrix"
same "$MNT/$up" "$TMP/needing"
unmount_and_wait
mv "$matrix" "$TMP/away"
mv "$TMP/lacking.gguf" "$matrix"
mount_model -o noassemble "$base"
grep -q '^\.imatrix	broken importance' "$MNT/.grafts" || fail "$(cat "$MNT/.grafts")"
unmount_and_wait
mv "$TMP/away" "$matrix"
# Without its file the slot shows its own content, and nothing is assembled.
mv "$matrix" "$TMP/away"
mount_model -o noassemble "$base"
same "$MNT/$up" "$MNT/.base/$up"
expect_fail 'i/o error|input/output' sh -c "echo x.gguf >'$MNT/.assemble'"
mv "$TMP/away" "$matrix"
same "$MNT/model.gguf" "$TMP/expected.gguf"
exec 3<"$types/iq3_xxs/$up"
printf '%s\n' "$up" .imatrix >"$MNT/.undo"
absent "$types/iq3_xxs/$up"
cat <&3 >"$TMP/held"
same "$TMP/held" "$TMP/needing"
exec 3<&-
same "$MNT/model.gguf" "$base"
cat "$TMP/recipe" >"$MNT/.recipe"
same "$MNT/model.gguf" "$TMP/expected.gguf"
echo all >"$MNT/.undo"
# A graft of such a view needs no matrix.
ln -s "$matrix" "$MNT/.imatrix"
cat "$TMP/types" >"$MNT/.types"
same "$MNT/model.gguf" "$TMP/expected.gguf"
setfattr -x user.organfs.type "$MNT/$up"
cp "$types/iq3_xxs/$up" "$MNT/$up"
rm "$MNT/.imatrix"
same "$MNT/$up" "$TMP/needing"
same "$types/iq3_xxs/$up" "$TMP/needing"
echo all >"$MNT/.undo"
setfattr -n user.organfs.type -v q4_k "$MNT/$up"

# A file that is no matrix for this model is refused.
"$GGUF" organ "$base" blk.2.ffn_up.weight "$TMP/organ"
for file in "$base" "$TMP/organ" /nowhere; do
	expect_fail 'invalid argument|no such file' ln -s "$file" "$MNT/.imatrix"
done
log_says '\.imatrix: refused: .*general.type is not imatrix'
{ head -c -64 "$matrix" && printf '\377%.0s' {1..64}; } >"$TMP/nan.gguf"
expect_fail 'invalid argument' ln -s "$TMP/nan.gguf" "$MNT/.imatrix"
log_says '\.imatrix: refused: .*negative or not finite'
expect_fail 'operation not permitted' ln -s "$matrix" "$MNT/matrix.gguf"
expect_fail 'operation not permitted' sh -c "cat '$matrix' >'$MNT/.imatrix'"

# ln -f replaces the matrix, or leaves it.
ln -s "$matrix" "$MNT/.imatrix"
cp "$matrix" "$TMP/other.gguf"
ln -sfn "$TMP/other.gguf" "$MNT/.imatrix"
equal "$(readlink "$MNT/.imatrix")" "$TMP/other.gguf"
equal "$(grep -c imatrix "$MNT/.grafts")" 1
expect_fail 'invalid argument|not permitted' ln -sf "$base" "$MNT/.imatrix"
equal "$(readlink "$MNT/.imatrix")" "$TMP/other.gguf"
same "$MNT/$up" "$TMP/weighted"
rm "$MNT/.imatrix"
absent "$MNT/.imatrix"
expect_fail 'not permitted' mv "$MNT/theta.svg" "$MNT/.imatrix"

# A matrix changed since is no error of the table. A missing one is reported, and nothing is
# assembled without it.
ln -s "$matrix" "$MNT/.imatrix"
touch "$matrix"
equal "$(cut -f 16 "$MNT/skeleton/.theta" | sed 1d | sort -u)" '             nan'
expect_fail 'i/o error|input/output' getfattr -n user.organfs.importance "$MNT/$up"
unmount_and_wait
mv "$matrix" "$TMP/away"
mount_model -o noassemble "$base"
grep -q '^\.imatrix	broken importance' "$MNT/.grafts" || fail "$(cat "$MNT/.grafts")"
expect_fail 'i/o error|input/output' sh -c "echo x.gguf >'$MNT/.assemble'"
log_says '\.imatrix: '
mv "$TMP/away" "$matrix"
same "$MNT/$up" "$TMP/weighted"
unmount_and_wait

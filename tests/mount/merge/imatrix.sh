#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# .imatrix weights the encoding of a merge's result, without and with adapters: the bytes of the
# same values in F32, requantised with the matrix; they follow the link both ways.
. "${0%/*}/../lib.sh"

need xxhsum
cd "$TMP"
base=$TMP/base.gguf
matrix=$TMP/matrix.gguf
cp "$here/../models/scribe-imatrix.gguf" "$matrix"
for type in q4_k q5_0; do
	echo "* $type" | "$ORGANFS" --quantise - "$here/../models/scribe-f16-tensors.gguf" \
		$type.gguf 2>said || fail "$(cat said)"
done
mv q4_k.gguf "$base"
up=organs/blk_2_ffn_up.bin
down=organs/blk_5_ffn_down.bin
"$LORA" make "$base" lora.gguf blk.5.ffn_down.weight --seed a

# config DTYPE: print the configuration.
config() {
	printf '%s\n' 'merge_method: linear' 'base_model: base' "dtype: $1" \
		'parameters: {weight: 0.5}' 'models:' '- model: base' '- model: ./q5_0.gguf'
}

# keep DIRECTORY: save the shown slots, hashes and errors.
keep() {
	mkdir "$1"
	cp "$MNT/$up" "$MNT/$down" "$MNT/model.gguf" "$MNT/checksums.xxh128" \
		"$MNT/.views/types/q3_k/loss.tsv" "$1"
}

# are DIRECTORY: they equal the saved ones.
are() {
	keep now
	diff -r "$1" now || fail "not as in $1"
	rm -r now
}

mount_model -o noassemble,merged=keep "$base"
config float32 >"$MNT/.merge" || fail "$(tail -n 1 "$MNT/.log")"
cp -r "$MNT/.views/types/q4_k/organs" unweighted
ln -s "$matrix" "$MNT/.imatrix"
cp -r "$MNT/.views/types/q4_k/organs" weighted
rm "$MNT/.imatrix" "$MNT/.merge"

config Q4_K >"$MNT/.merge" || fail "$(tail -n 1 "$MNT/.log")"
same "$MNT/$up" "unweighted/${up#*/}"
keep without
exec 3<"$MNT/$up"
ln -s "$matrix" "$MNT/.imatrix"
same "$MNT/$up" "weighted/${up#*/}"
differ "$MNT/$up" "without/${up#*/}"
cat <&3 >held
exec 3<&-
same held "without/${up#*/}"
for organ in "$MNT"/organs/*.bin; do
	same "$organ" "weighted/${organ##*/}"
done
keep with
differ with/checksums.xxh128 without/checksums.xxh128
differ with/loss.tsv without/loss.tsv
# Adapters and chosen types use the weighted result.
ln -s "$TMP/lora.gguf" "$MNT/adapters/"
setfattr -n user.organfs.type -v q5_0 "$MNT/$up"
differ "$MNT/$down" "with/${down#*/}"
keep adapted
kill_daemon
mount_model -o noassemble,merged=keep "$base"
are adapted
rm "$MNT/.imatrix"
differ "$MNT/$down" "adapted/${down#*/}"
echo "$up" >"$MNT/.undo"
rm "$MNT/adapters/lora.gguf"
are without
ln -s "$matrix" "$MNT/.imatrix"
are with
# A later merge has the weights too; a graft over it stays.
cp "without/${up#*/}" "$MNT/$up"
rm "$MNT/.merge"
config Q4_K >"$MNT/.merge" || fail "$(tail -n 1 "$MNT/.log")"
same "$MNT/$up" "without/${up#*/}"
echo "$up" >"$MNT/.undo"
are with
# A result in the base's types uses them too.
rm "$MNT/.merge"
config float32 | grep -v dtype >"$MNT/.merge" || fail "$(tail -n 1 "$MNT/.log")"
same "$MNT/$up" "weighted/${up#*/}"
echo written.gguf >"$MNT/.assemble"
same written.gguf "$MNT/model.gguf"
unmount_and_wait

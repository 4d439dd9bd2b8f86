#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# .views/shards: the current model in one file per tensor, together model.gguf; each file whose
# bytes change gets another mtime, and no other file does.
. "${0%/*}/../lib.sh"

# times: number-of-count, size and time of each shard.
times() {
	(cd "$shards" && stat -c '%n %s %.9Y' -- *) | sed 's/.*-\([0-9]*-of-[0-9]*\)\.gguf/\1/'
}

# look WHY: no file has the time of other bytes.
look() {
	times >"$TMP/times"
	(cd "$shards" && sha256sum -- *) >"$TMP/sums"
	join <(cut -d ' ' -f 1,3 "$TMP/times") \
		<(sed 's/ .*-\([0-9]*-of-[0-9]*\)\.gguf/ \1/' "$TMP/sums") -2 2 >>"$TMP/seen"
	equal "$(sort -u "$TMP/seen" | cut -d ' ' -f 1,2 | uniq -d)" '' \
		"times of two states after $1"
}

# changed WHY [NUMBER...]: exactly the files with these numbers have other times and bytes than
# before.
changed() {
	local why=$1
	shift
	look "$why"
	equal "$(comm -13 <(sort "$TMP/times.before") <(sort "$TMP/times") | cut -c 1-5 | xargs)" \
		"$*" "times that are other ones after $why"
	equal "$(comm -13 <(sort "$TMP/sums.before") <(sort "$TMP/sums") |
		sed 's/.*-\([0-9]*\)-of.*/\1/' | sort | xargs)" "$*" "bytes that are after $why"
	mv "$TMP/times" "$TMP/times.before"
	mv "$TMP/sums" "$TMP/sums.before"
}

is_the_model() {
	mount_model -o ro "$(ls "$shards"/*-00001-of-*)" "$TMP/set"
	same "$TMP/set/model.gguf" "$MNT/model.gguf"
	unmount_and_wait "$TMP/set"
}

# number_of: number of a tensor's shard.
number_of() {
	"$GGUF" organs "$MNT/model.gguf" | cut -f 1 | grep -nFx "$1" |
		awk -F : '{ printf "%05d\n", $1 + 1 }'
}

mkdir "$TMP/set" "$TMP/donor"
base=$(use stories260K)
mount_model -o noassemble "$base"
shards=$MNT/.views/shards
n=$("$GGUF" organs "$base" | wc -l)
count=$(printf %05d $((n + 1)))
equal "$(ls "$shards" | sed -n '1p;$p')" "$(printf 'stories260K-%s-of-%s.gguf\n' 00001 "$count" \
	"$count" "$count")"
equal "$(ls "$shards" | wc -l)" $((n + 1))
k=0
time=$(stat -c %.9Y "$MNT/norm/blk_0_ffn_norm.bin")
"$GGUF" organs "$base" | cut -f 1 | while read -r tensor; do
	k=$((k + 1))
	shard=$shards/stories260K-$(printf %05d $((k + 1)))-of-$count.gguf
	equal "$("$GGUF" organs "$shard" | cut -f 1)" "$tensor"
	equal "$(stat -c '%s %.9Y' "$shard")" "$(wc -c <"$shard") $time"
done
equal "$("$GGUF" organs "$shards/stories260K-00001-of-$count.gguf")" ''
expect_fail 'denied' tee "$shards/stories260K-00001-of-$count.gguf" </dev/null
for name in x 00001-of-00002.gguf "stories260K-00000-of-$count.gguf" \
	"stories260K-00001-of-00002.gguf" "stories260K-$(printf %05d $((n + 2)))-of-$count.gguf"; do
	absent "$shards/$name"
done

times >"$TMP/times.before"
(cd "$shards" && sha256sum -- *) >"$TMP/sums.before"
changed nothing
is_the_model
up=$(number_of blk.2.ffn_up.weight)
mount_model -o ro "$MODELS/stories260K-q8_0.gguf" "$TMP/donor"
exec 3<"$shards/stories260K-$up-of-$count.gguf"
sha256sum <"$shards/stories260K-$up-of-$count.gguf" >"$TMP/before"
cp "$TMP/donor/organs/blk_2_ffn_up.bin" "$MNT/organs/"
changed 'a graft of another type' "$up"
equal "$(sha256sum <&3)" "$(cat "$TMP/before")" 'of who had it open'
exec 3<&-
equal "$(stat -c %.9Y "$shards/stories260K-$up-of-$count.gguf")" \
	"$(stat -c %.9Y "$MNT/organs/blk_2_ffn_up.bin")"
# Another organ has the earlier one's time.
cp "$MNT/organs/blk_3_ffn_up.bin" "$TMP/other.bin"
touch -r "$MNT/organs/blk_2_ffn_up.bin" "$TMP/other.bin"
cp -p "$TMP/other.bin" "$MNT/organs/blk_2_ffn_up.bin"
changed 'a graft with the time of the one before' "$up"
cp "$TMP/donor/organs/blk_4_ffn_up.bin" "$TMP/other.bin"
touch -d 2001-01-01 "$TMP/other.bin"
cp -p "$TMP/other.bin" "$MNT/organs/blk_2_ffn_up.bin"
changed 'a graft with an earlier time' "$up"
echo organs/blk_2_ffn_up.bin >"$MNT/.undo"
changed 'an undo' "$up"
setfattr -n user.organfs.type -v q8_0 "$MNT/organs/blk_1_ffn_up.bin"
changed 'another type' "$(number_of blk.1.ffn_up.weight)"
is_the_model
echo organs/blk_1_ffn_up.bin >"$MNT/.undo"
changed 'its undo' "$(number_of blk.1.ffn_up.weight)"
ln -s "$TMP/linked.bin" "$MNT/organs/blk_2_ffn_up.bin" 2>/dev/null && fail 'a link to nothing'
cp "$TMP/donor/organs/blk_2_ffn_up.bin" "$TMP/linked.bin"
ln -sf "$TMP/linked.bin" "$MNT/organs/blk_2_ffn_up.bin"
changed 'a link' "$up"
cp "$TMP/donor/organs/blk_3_ffn_up.bin" "$TMP/linked.new"
mv "$TMP/linked.new" "$TMP/linked.bin"
changed 'another file under the link' "$up"
rm "$MNT/organs/blk_2_ffn_up.bin"
echo organs/blk_2_ffn_up.bin >"$MNT/.undo"
changed 'a removal that is undone' "$up"

# The first file has the metadata.
echo 'another name' >"$MNT/metadata/general.name"
changed 'a key' 00001
is_the_model
echo metadata/general.name >"$MNT/.undo"
changed 'its undo' 00001

# Each of two adapters, with its scale, changes its own tensors.
"$LORA" make "$base" "$TMP/a.gguf" 'blk.[01].attn_q.weight' --seed a
"$LORA" make "$base" "$TMP/b.gguf" 'blk.1.attn_[qk].weight' --seed b
a=$(number_of blk.0.attn_q.weight)
both=$(number_of blk.1.attn_q.weight)
b=$(number_of blk.1.attn_k.weight)
ln -s "$TMP/a.gguf" "$MNT/adapters/a.gguf"
changed 'an adapter' $(printf '%s\n' "$a" "$both" | sort)
ln -s "$TMP/b.gguf" "$MNT/adapters/b.gguf"
changed 'a second adapter' $(printf '%s\n' "$b" "$both" | sort)
echo 0.5 >"$MNT/adapters/a.scale"
changed 'a scale' $(printf '%s\n' "$a" "$both" | sort)
is_the_model
rm "$MNT/adapters/a.gguf"
changed 'the first adapter removed' $(printf '%s\n' "$a" "$both" | sort)

# A listing reads and computes no tensor.
echo 2 >"$MNT/adapters/b.scale"
before=$(bytes_read)
ls -l "$shards" >"$TMP/listing"
[ $(($(bytes_read) - before)) -lt 40000 ] || fail "$(($(bytes_read) - before)) bytes are read"
rm "$MNT/adapters/b.gguf"
changed 'both adapters removed' $(printf '%s\n' "$b" "$both" | sort)

# A merge changes all matrices.
cp "$MODELS/stories260K-donor.gguf" "$TMP/"
cat >"$MNT/.merge" <<-END
	merge_method: linear
	models:
	- {model: stories260K, parameters: {weight: 1}}
	- {model: $TMP/stories260K-donor.gguf, parameters: {weight: 1}}
END
times >"$TMP/times"
comm -13 <(sort "$TMP/times.before") <(sort "$TMP/times") | cut -c 1-5 >"$TMP/merged"
grep -qx "$up" "$TMP/merged" || fail "after a merge: $(cat "$TMP/merged")"
is_the_model
mv "$TMP/times" "$TMP/times.before"
rm "$MNT/.merge"
times >"$TMP/times"
comm -13 <(sort "$TMP/times.before") <(sort "$TMP/times") | cut -c 1-5 >"$TMP/unmerged"
same "$TMP/unmerged" "$TMP/merged"

# Another number of tensors gives other names; the first file's time may stay.
ln "$MNT/norm/blk_4_ffn_norm.bin" "$MNT/norm/blk_9_ffn_norm.bin"
equal "$(ls "$shards" | sed -n 1p)" "stories260K-00001-of-$(printf %05d $((n + 2))).gguf"
absent "$shards/stories260K-00001-of-$count.gguf"
is_the_model
unmount_and_wait
unmount_and_wait "$TMP/donor"

# The first file has the type of most tensors.
mount_model -o noassemble "$(use scribe-Q4_K_M)"
look 'the mount'
for type in q8_0 q5_0; do
	echo "* $type" >"$MNT/.types"
	look "$type"
done
equal "$(cut -d ' ' -f 1,3 "$TMP/seen" | sort -u | grep -c '^00001-of-00058')" 3
unmount_and_wait

# Cases: shards of a split model, an alignment of its own, several models, a name that is too long
# with numbers.
mkdir "$TMP/models"
cp "$MODELS"/stories260K-split-* "$TMP/models/"
"$GGUF" variant "$MODELS/stories260K.gguf" "$TMP/models/aligned.gguf" --align 4096
mount_model -o ro "$TMP/models"
for model in aligned stories260K-split; do
	mount_model -o ro "$MNT/$model/.views/shards/$model-00001-of-$count.gguf" "$TMP/set"
	same "$TMP/set/model.gguf" "$MNT/$model/model.gguf"
	unmount_and_wait "$TMP/set"
done
unmount_and_wait
long=$(printf 'n%.0s' {1..250})
cp "$MODELS/stories260K.gguf" "$TMP/$long.gguf"
mount_model -o ro "$TMP/$long.gguf"
is_the_model
unmount_and_wait

# A model that lacks shards, has no tensors, or cannot be split has none.
"$GGUF" variant "$MODELS/stories260K.gguf" "$TMP/vocab.gguf" --vocab
"$GGUF" variant "$MODELS/stories260K.gguf" "$TMP/old.gguf" --version 1
mkdir "$TMP/lacking"
cp "$MODELS/stories260K-split-00001-of-00003.gguf" "$TMP/lacking/"
for model in "$TMP/vocab.gguf" "$TMP/old.gguf" "$TMP"/lacking/*; do
	mount_model -o ro "$model"
	equal "$(ls -A "$shards")" '' "$model"
	absent "$shards/vocab-00001-of-00002.gguf"
	equal "$(cd "$shards/.." && ls -di .)" "$(cd "$MNT/.views" && ls -di .)"
	unmount_and_wait
done

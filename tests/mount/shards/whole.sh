#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# A split model is one model: tree, θ and assembled bytes equal the single file's, whichever shard
# is named.
. "${0%/*}/../lib.sh"

# gguf-split of llama.cpp wrote the shards from this file.

one=$(use stories260K)
mkdir "$TMP/m" "$TMP/mnt1" "$TMP/d"
cp "$MODELS"/stories260K-split-*.gguf "$TMP/m"
stem=$TMP/m/stories260K-split

mount_model -o ro "$one" "$TMP/mnt1"
for k in 1 2 3; do
	mount_model -o ro "$stem-0000$k-of-00003.gguf"
	same "$MNT/model.gguf" "$one"
	for class in skeleton organs embed norm metadata; do
		diff -r "$MNT/$class" "$TMP/mnt1/$class" || fail "$class is not the same"
	done
	equal "$(sed 's/stories260K-split/stories260K/' "$MNT/.theta")" "$(cat "$TMP/mnt1/.theta")"
	same "$MNT/checksums.xxh128" "$TMP/mnt1/checksums.xxh128"
	same "$MNT/.views/gguf-hash.xxh64" "$TMP/mnt1/.views/gguf-hash.xxh64"
	"$GGUF" check-mount --grafted "$one" "$MNT"
	equal "$(stat -c %s "$MNT/model.gguf")" "$(stat -c %s "$one")"
	equal "$(grep -o '"summary":"[^"]*"' "$MNT/manifest.json")" \
		'"summary":"48/48 tensors, shards 1-3 of 3"'
	unmount_and_wait
done

# An extent names the shard with the bytes.
mount_model -o ro "$stem-00001-of-00003.gguf"
for organ in "$MNT"/organs/*.bin; do
	IFS=: read -r file offset length \
		<<<"$(getfattr --absolute-names --only-values -n user.organfs.extent "$organ")"
	case $file in "$stem"-0000?-of-00003.gguf) ;; *) fail "extent in $file" ;; esac
	cmp <(tail -c "$length" "$organ") \
		<(tail -c "+$((offset + 1))" "$file" | head -c "$length") ||
		fail "$organ is not at $file:$offset"
done
# df shows the disk of the shards.
equal "$(stat -f -c %b "$MNT")" "$(stat -f -c %b "$TMP/m")"
unmount_and_wait

# Grafts: a copy, a reference, another type; then the same on the single file.
cp "$MODELS/stories260K-donor.gguf" "$TMP/d/donor.gguf"
mount_model -o ro "$TMP/d/donor.gguf" "$TMP/mnt2"
graft() {
	cp "$TMP/mnt2/organs/blk_1_ffn_up.bin" "$1/organs/"
	cp "$1/organs/blk_3_ffn_up.bin" "$1/organs/blk_2_ffn_up.bin"
	ln -sf "$TMP/mnt2/skeleton/blk_4_attn_q.bin" "$1/skeleton/"
	rm "$1/metadata/general.name"
}
unmount_and_wait "$TMP/mnt1"
mount_model -o "noassemble,layer=$TMP/layer" "$one" "$TMP/mnt1"
graft "$TMP/mnt1"
mount_model -o "output=$TMP/out.gguf" "$stem-00002-of-00003.gguf"
graft "$MNT"
same "$MNT/model.gguf" "$TMP/mnt1/model.gguf"
equal "$(grep -c 'blk_2.*reference' "$MNT/.grafts")" 1
# After a crash the grafts are taken up, also references to the model's own shards.
kill_daemon
mount_model -o "output=$TMP/out.gguf" "$stem-00003-of-00003.gguf"
same "$MNT/model.gguf" "$TMP/mnt1/model.gguf"
unmount_and_wait
same "$TMP/out.gguf" "$TMP/mnt1/model.gguf"
unmount_and_wait "$TMP/mnt1"
unmount_and_wait "$TMP/mnt2"
"$GGUF" organs "$TMP/out.gguf" >"$TMP/listed"
equal "$(wc -l <"$TMP/listed")" 48

# A shard is no target.
mount_model -o noassemble "$stem-00001-of-00003.gguf"
for k in 1 2 3; do
	before=$(checksum "$stem-0000$k-of-00003.gguf")
	expect_fail 'Invalid argument' eval "echo $stem-0000$k-of-00003.gguf >$MNT/.assemble"
	equal "$(checksum "$stem-0000$k-of-00003.gguf")" "$before"
done
unmount_and_wait

# The split model is in a directory beside others; another model refers to it.
rm "$TMP"/m/*
cp "$one" "$TMP/m/single.gguf"
"$GGUF" split "$TMP/d/donor.gguf" "$TMP/m/donor" 3
mount_model -o noassemble "$TMP/m"
equal "$(ls "$MNT")" "$(printf 'donor\nmanifest.json\nsingle')"
cp "$MNT/donor/organs/blk_4_ffn_down.bin" "$MNT/single/organs/blk_0_ffn_down.bin"
grep -q 'blk_0_ffn_down.*reference' "$MNT/single/.grafts" || fail "$(cat "$MNT/single/.grafts")"
want=$(checksum "$MNT/single/model.gguf")
unmount_and_wait
mount_model -o noassemble "$TMP/m"
equal "$(checksum "$MNT/single/model.gguf")" "$want"
unmount_and_wait
# A reference to a model that lacks a shard is broken, with the reason.
mkdir "$TMP/away"
mv "$TMP/m/donor-00002-of-00003.gguf" "$TMP/away"
mount_model -o noassemble "$TMP/m"
grep -q 'blk_0_ffn_down.*broken reference' "$MNT/single/.grafts" ||
	fail "$(cat "$MNT/single/.grafts")"
grep -q 'blk_0_ffn_down.*lacks donor-00002' "$MNT/single/.log" || fail "$(cat "$MNT/single/.log")"
unmount_and_wait
mv "$TMP/away"/* "$TMP/m"
mount_model -o noassemble "$TMP/m"
equal "$(checksum "$MNT/single/model.gguf")" "$want"
unmount_and_wait

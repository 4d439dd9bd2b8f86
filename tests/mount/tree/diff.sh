#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# .diff compares the current model with its base, with others of the mount, and with targets of
# links. Sizes are exact before any measurement, only the graft shows, and a link to no model, in a
# loop or to nothing is reported in a sentence.
# timeout: 240
. "${0%/*}/../lib.sh"

D=$MNT/.diff
# Names of tensors that differ.
differing() {
	awk -F '\t' '$7 == "no" { print $4 }' "$1"
}
says() {
	grep -Eq -- "$2" "$1" || fail "$2 is not in $1: $(cat "$1")"
}
exact() {
	local size
	size=$(stat -c %s "$1")
	equal "$(wc -c <"$1")" "$size" "bytes of $1"
}

with_clock
base=$(use scribe-Q4_K_M)
mount_model -o noassemble "$base"
absent "$MNT/diff"
! ls -A "$MNT" | grep -qx .diff || fail '.diff is listed'
equal "$(ls -A "$D" | tr '\n' ' ')" 'base base.svg base.tsv '
before=$(stat -c %i "$D/base")
equal "$(stat -c %i "$D/base")" "$before" 'the number of a file that did not change'
exact "$D/base"
exact "$D/base.tsv"
equal "$(differing "$D/base.tsv")" ''
says "$D/base" '^mean  all +57 +0 +57 '
# The result equals that without a mount.
"$ORGANFS" --diff=tsv "$base" "$base" | cmp - "$D/base.tsv" || fail 'another table than --diff'

# Exactly one graft shows; an open file keeps its content.
exec 5<"$D/base.tsv"
cp "$MNT/organs/blk_1_ffn_up.bin" "$MNT/organs/blk_2_ffn_up.bin"
equal "$(differing /dev/fd/5)" '' 'a table that was opened before'
exec 5<&-
equal "$(differing "$D/base.tsv")" blk.2.ffn_up.weight
equal "$(grep -c '^most' "$D/base")" 1
exact "$D/base"
rm "$MNT/organs/blk_3_ffn_up.bin"
says "$D/base" '^only-there blk\.3\.ffn_up\.weight$'
equal "$(tail -n 1 "$D/base.tsv" | cut -f 13)" only-there
echo other >"$MNT/metadata/general.name"
says "$D/base" '^< general\.name = other$'
cp "$MNT/.base/organs/blk_3_ffn_up.bin" "$MNT/.base/organs/blk_2_ffn_up.bin" "$MNT/organs/"
cp "$MNT/.base/metadata/general.name" "$MNT/metadata/"
equal "$(differing "$D/base.tsv")" ''

# Links lead to a file, a mount, and something else.
cp "$MODELS/clerk-Q4_K_M.gguf" "$TMP/clerk.gguf"
ln -s "$TMP/clerk.gguf" "$D/"
equal "$(ls -A "$D" | tr '\n' ' ')" 'base base.svg base.tsv clerk clerk.gguf clerk.svg clerk.tsv '
equal "$(readlink "$D/clerk.gguf")" "$TMP/clerk.gguf"
"$ORGANFS" --diff=tsv "$base" "$TMP/clerk.gguf" | cmp - "$D/clerk.tsv" ||
	fail 'another table than --diff'
exact "$D/clerk"
exact "$D/clerk.svg"
equal "$(grep -c '^<rect.*<title>' "$D/clerk.svg")" 57 'cells of the picture'
python3 -c 'import sys, xml.dom.minidom as m; m.parse(sys.argv[1])' "$D/clerk.svg" ||
	fail 'no XML'
mkdir "$TMP/mnt"
mount_model -o noassemble "$TMP/clerk.gguf" "$TMP/mnt"
ln -s "$TMP/mnt" "$D/mounted.gguf"
same "$D/clerk.tsv" "$D/mounted.tsv"
# Two mounts link to each other, with grafts from each other.
ln -s "$MNT" "$TMP/mnt/.diff/back.gguf"
ln -s "$MNT/organs/blk_0_ffn_up.bin" "$TMP/mnt/organs/blk_0_ffn_up.bin" 2>/dev/null ||
	ln -sf "$MNT/organs/blk_0_ffn_up.bin" "$TMP/mnt/organs/blk_0_ffn_up.bin"
later 3 # after this a link is looked up again
in_time 30 cat "$D/mounted.tsv" >"$TMP/one" || fail 'no table of a mount with grafts'
in_time 30 cat "$TMP/mnt/.diff/back.tsv" >"$TMP/other" || fail 'no table the other way'
equal "$(awk -F '\t' '$4 == "blk.0.ffn_up.weight" { print $7 }' "$TMP/one")" yes
equal "$(awk -F '\t' '$4 == "blk.0.ffn_up.weight" { print $7 }' "$TMP/other")" yes
rm "$D/mounted.gguf" "$TMP/mnt/.diff/back.gguf"
# No file of the other mount is open any more, although the kernel still knows files of .diff.
unmount_and_wait "$TMP/mnt"
absent "$D/mounted"
absent "$D/mounted.tsv"

ln -s "$MNT" "$D/self.gguf"
ln -s "$TMP/none" "$D/none.gguf"
ln -s "$TMP/one" "$D/text.gguf"
ln -s loop.gguf "$D/loop.gguf"
mkfifo "$TMP/fifo"
ln -s "$TMP/fifo" "$D/fifo.gguf"
says "$D/self" '^# there is nothing to compare with: .*: the path leads into this mount$'
says "$D/none.tsv" '^# there is nothing to compare with: .*: No such file or directory$'
says "$D/text" '^# there is nothing to compare with: .*GGUF'
in_time 20 grep -q '^# there is nothing' "$D/loop" || fail 'a link to itself'
in_time 20 grep -q '^# there is nothing' "$D/fifo" || fail 'a FIFO'
in_time 30 ls -l "$D" >/dev/null || fail 'the listing has errors'
rm "$D/self.gguf" "$D/none.gguf" "$D/text.gguf" "$D/loop.gguf" "$D/fifo.gguf"
# A shard is not the model, unlike its mount.
cp "$MODELS"/stories260K-split-*.gguf "$TMP"
ln -s "$TMP/stories260K-split-00001-of-00003.gguf" "$D/shard.gguf"
says "$D/shard" '^# there is nothing .*: the file is one of 3 shards: mount the model'
absent "$D/shard.lora-3.gguf"
mount_model -o noassemble "$TMP/stories260K-split-00001-of-00003.gguf" "$TMP/mnt"
ln -s "$TMP/mnt" "$D/shards.gguf"
says "$D/shards" '^there .*/mnt, 48 tensors$'
rm "$D/shard.gguf" "$D/shards.gguf"
unmount_and_wait "$TMP/mnt"
expect_fail 'not permitted' ln -s "$TMP/clerk.gguf" "$D/new"
expect_fail 'File exists' ln -s "$TMP/clerk.gguf" "$D/base.gguf"
log_says 'there is another model called base'
expect_fail 'File exists' ln -s "$TMP/none" "$D/clerk.gguf"
expect_fail 'not permitted' touch "$D/new"
expect_fail 'not permitted' mkdir "$D/new"
expect_fail 'not permitted|denied' mv "$D/clerk.gguf" "$D/manifest.json"
equal "$(readlink "$D/clerk.gguf")" "$TMP/clerk.gguf" 'a link that was not renamed'
expect_fail 'not permitted|denied' rm "$D/base"
expect_fail 'not permitted|denied' bash -c "echo x >$D/base"

# Another file at the path counts; a truncated one is a reported error.
cp "$base" "$TMP/new"
mv "$TMP/new" "$TMP/clerk.gguf"
later 3
equal "$(differing "$D/clerk.tsv")" ''
exec 5<"$D/clerk.tsv"
cp "$MODELS/clerk-Q4_K_M.gguf" "$TMP/new"
mv "$TMP/new" "$TMP/clerk.gguf"
later 3
[ "$(differing "$D/clerk.tsv" | wc -l)" -gt 40 ] || fail 'the new file does not count'
exec 5<&-
cp "$MNT/organs/blk_1_ffn_up.bin" "$MNT/organs/blk_2_ffn_up.bin" # this organ is unmeasured
exec 5<"$D/clerk.tsv"
truncate -s 100000 "$TMP/clerk.gguf"
expect_fail 'Input/output error' cat <&5
exec 5<&-
log_says 'clerk\.gguf.*(changed|cannot be read)'
later 3
says "$D/clerk.tsv" '^# there is nothing to compare with: .*clerk\.gguf: '
unmount_and_wait

# A read-only mount has no links; several models stand beside each other.
mkdir "$TMP/models"
cp "$base" "$MODELS/clerk-Q4_K_M.gguf" "$TMP/models"
mount_model -o ro "$TMP/models"
equal "$(ls -A "$MNT/clerk-Q4_K_M/.diff" | tr '\n' ' ')" \
	'base base.svg base.tsv scribe-Q4_K_M scribe-Q4_K_M.svg scribe-Q4_K_M.tsv '
"$ORGANFS" --diff=tsv "$TMP/models/clerk-Q4_K_M.gguf" "$base" |
	cmp - "$MNT/clerk-Q4_K_M/.diff/scribe-Q4_K_M.tsv" || fail 'another table than --diff'
expect_fail 'Read-only' ln -s "$base" "$MNT/clerk-Q4_K_M/.diff/"
unmount_and_wait
mount_model -o noassemble,fresh "$TMP/models"
cp "$MNT/clerk-Q4_K_M/organs/blk_1_ffn_up.bin" "$MNT/scribe-Q4_K_M/organs/"
equal "$(awk -F '\t' '$7 == "yes" { print $4 }' "$MNT/clerk-Q4_K_M/.diff/scribe-Q4_K_M.tsv")" \
	blk.1.ffn_up.weight
unmount_and_wait
# A model with the base's name is not listed in its place; a link has another name for it.
mv "$TMP/models/clerk-Q4_K_M.gguf" "$TMP/models/base.gguf"
mount_model -o noassemble,fresh "$TMP/models"
D=$MNT/scribe-Q4_K_M/.diff
equal "$(ls -A "$D" | tr '\n' ' ')" 'base base.svg base.tsv '
equal "$(differing "$D/base.tsv")" ''
ln -s "$TMP/models/base.gguf" "$D/named.gguf"
[ "$(differing "$D/named.tsv" | wc -l)" -gt 40 ] || fail 'a model called base cannot be reached'
equal "$(ls -A "$MNT/base/.diff" | tr '\n' ' ')" \
	'base base.svg base.tsv scribe-Q4_K_M scribe-Q4_K_M.svg scribe-Q4_K_M.tsv '
unmount_and_wait

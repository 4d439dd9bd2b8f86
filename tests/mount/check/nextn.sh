#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# A graft of a multi-token prediction block, from a GGUF with only its tensors, into a model of
# another quantisation: .check knows the block's tensors and the metadata that it needs.
. "${0%/*}/../lib.sh"
. "${0%/*}/lib.sh"

base=$(use stories260K-q8_0)
key=$MNT/metadata/llama.nextn_predict_layers
count_layers() {
	echo "$1" >"$key"
}
"$GGUF" nextn "$MODELS/stories260K.gguf" "$TMP/mtp.gguf"
other=$MNT.donor
mkdir "$other" "$other.whole"
mount_model -o noassemble "$base"
mount_model -o ro "$TMP/mtp.gguf" "$other"
equal "$(verdict nextn)" '' 'without such a block'

# The whole block counts in the metadata and survives a kill; a value that the user writes stays.
cp -r "$other/blocks/5" "$MNT/blocks/5"
equal "$(cat "$key")" 1
equal "$(getfattr --absolute-names --only-values -n user.organfs.type "$key")" uint32
ls "$MNT/metadata" | grep -qx llama.nextn_predict_layers || fail 'the key is not listed'
cp "$MNT/model.gguf" "$TMP/counted.gguf"
kill_daemon
mount_model -o noassemble "$base"
same "$MNT/model.gguf" "$TMP/counted.gguf"
count_layers 0
says impossible nextn 'blk 5 .*write 1 to metadata/llama.nextn_predict_layers'
rm "$key"
says ok blocks '6 from 0'
says ok complete 'no block'
says ok nextn 'blk 5, .*nextn_predict_layers'
equal "$(cut -f 1 "$MNT/.grafts" | grep -c metadata || true)" 0
says ok unit '1 whole block'
says ok dimensions 'does not say'
says ok parts 'does not apply'
says ok tokenizer 'no embedding'
says ok lineage 'does not apply'
says ok spreads 'does not apply'
says ok norms 'within 2 times'
says ok role 'each'
# Some verdicts are unknown.
says unknown rope 'does not say'
equal "$(verdict overall)" unknown
python3 - "$MNT/model.gguf" "$TMP/mtp.gguf" "$base" "${GGUF%/*}" <<'END'
import sys
sys.path.insert(0, sys.argv[4])
import gguf
made, donor, base = (gguf.Model(path) for path in sys.argv[1:4])
assert made.get(b"llama.block_count") == 6 and made.get(b"llama.nextn_predict_layers") == 1
for m in donor, base:
    for t in m.tensors:
        other = made.tensor(t.name)
        assert other.type == t.type and made.data(other) == m.data(t), t.name
assert len(made.tensors) == len(base.tensors) + len(donor.tensors)
END

# The number is wrong or invalid, or the block is missing or not the last.
count_layers 2
says impossible nextn 'says 2, and 1 block'
count_layers 1
for class in skeleton organs norm; do
	for file in "$MNT/$class"/blk_4_*.bin; do
		cp "$file" "${file/blk_4_/blk_6_}"
	done
done
says impossible nextn 'of 7 they are 5'
rm "$MNT"/*/blk_6_*.bin
# The block lacks tensors.
rm "$MNT/norm/blk_5_nextn_hnorm.bin" "$MNT/organs/blk_5_ffn_down.bin"
says impossible complete 'blk 5 .*lacks nextn_hnorm, ffn_down'
rm "$MNT"/*/blk_5_*.bin
says impossible nextn 'says 1, and no block'
rm "$key"
equal "$(verdict nextn)" ''
absent "$key"
same "$MNT/model.gguf" "$base"
# A model that counts such a block loses it; the block's own file can be grafted back.
mount_model -o noassemble "$TMP/counted.gguf" "$other.whole"
rm -r "$other.whole/blocks/5"
equal "$(cat "$other.whole/metadata/llama.nextn_predict_layers")" 0
cp -r "$other/blocks/5" "$other.whole/blocks/5"
equal "$(cat "$other.whole/metadata/llama.nextn_predict_layers")" 1
unmount_and_wait "$other.whole"
unmount_and_wait "$other"

# llama.cpp ignores a key of type string.
"$GGUF" edit "$base" "$TMP/text.gguf" llama.nextn_predict_layers=string:1
mount_model -o ro "$TMP/text.gguf" "$other"
MNT=$other says impossible nextn 'no number: .*user.organfs.type to uint32'
unmount_and_wait "$other"

# Types of a fork stay as they are: copied, linked, by reference, assembled.
"$GGUF" nextn --up-type 4001 "$MODELS/stories260K.gguf" "$TMP/fork.gguf"
mount_model -o ro "$TMP/fork.gguf" "$other"
for class in skeleton norm embed; do
	cp "$other/$class"/blk_5_*.bin "$MNT/$class/"
done
cp "$other"/organs/blk_5_ffn_[dg]*.bin "$MNT/organs/"
for how in cp 'ln -s'; do
	$how "$other/organs/blk_5_ffn_up.bin" "$MNT/organs/"
	count_layers 1
	says unknown type 'type-4001 of organs/blk_5_ffn_up.bin'
	echo "$TMP/assembled.gguf" >"$MNT/.assemble"
	python3 - "$TMP/assembled.gguf" "$TMP/fork.gguf" "${GGUF%/*}" <<'END'
import sys
sys.path.insert(0, sys.argv[3])
import gguf
made, donor = gguf.Model(sys.argv[1]), gguf.Model(sys.argv[2])
t, other = donor.tensor(b"blk.5.ffn_up.weight"), made.tensor(b"blk.5.ffn_up.weight")
assert t.type == other.type == 4001 and made.data(other)[:t.size] == donor.data(t)
END
	rm "$MNT/organs/blk_5_ffn_up.bin"
done
unmount_and_wait
unmount_and_wait "$other"
# A model with such types itself runs in a program that knows them.
mount_model -o noassemble "$TMP/fork.gguf"
cp "$MNT/organs/blk_5_ffn_up.bin" "$TMP/up.bin"
cp "$TMP/up.bin" "$MNT/organs/blk_6_ffn_up.bin"
says ok type 'as some of this'
unmount_and_wait

#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# block_count, and arrays with an entry for each block, follow the existing blocks: doubled,
# pruned, swapped. Blocks with a gap are not assembled.
. "${0%/*}/../lib.sh"

base=$(use scribe-Q4_K_M)
# A model of six blocks with arrays that have an entry for each.
python3 - "$base" "$TMP/arrays.gguf" "${GGUF%/*}" <<'END'
import struct, sys
sys.path.insert(0, sys.argv[3])
import gguf
m = gguf.Model(sys.argv[1])
with open(sys.argv[1], "rb") as f:
    data = f.read()
kv = data[m.kv_start:m.infos_start]
def key(name): return struct.pack("<Q", len(name)) + name
def array(name, element, code, values):
    return (key(name) + struct.pack("<IIQ", 9, element, len(values)) +
            struct.pack(f"<{len(values)}{code}", *values))
extra = (array(b"llama.attention.head_count_kv_per_block", 5, "i", [10, 11, 12, 13, 14, 15]) +
         array(b"llama.feed_forward_length_per_block", 4, "I", [20, 21, 22, 23, 24, 25]) +
         array(b"llama.other_length", 4, "I", [1, 2, 3]) +
         array(b"other.six", 4, "I", [1, 2, 3, 4, 5, 6]))
header = data[:16] + struct.pack("<Q", len(m.kv) + 4) + kv + extra + data[m.infos_start:m.infos_end]
header += bytes(-len(header) % m.alignment)
with open(sys.argv[2], "wb") as f:
    f.write(header + data[m.data_start:])
END
# told: print block_count and the four arrays of a model.
told() {
	python3 - "$1" "${GGUF%/*}" <<'END'
import struct, sys
sys.path.insert(0, sys.argv[2])
import gguf
m = gguf.Model(sys.argv[1])
print(m.get(b"llama.block_count", None), end="")
data = open(sys.argv[1], "rb").read()
for name in (b"llama.attention.head_count_kv_per_block", b"llama.feed_forward_length_per_block",
             b"llama.other_length", b"other.six"):
    at = data.index(name) + len(name)
    kind, element, n = struct.unpack_from("<IIQ", data, at)
    print(" ", ",".join(map(str, struct.unpack_from(f"<{n}I", data, at + 16))), end="")
print()
END
}
plain='1,2,3  1,2,3,4,5,6'
mount_model "$TMP/arrays.gguf"
same "$MNT/model.gguf" "$TMP/arrays.gguf"
equal "$(told "$MNT/model.gguf")" "6  10,11,12,13,14,15  20,21,22,23,24,25  $plain"

# The shell repeats the last two blocks.
for class in organs skeleton norm; do
	for n in 4 5; do
		for file in "$MNT/$class/blk_${n}_"*.bin; do
			ln "$file" "${file/blk_${n}_/blk_$((n + 2))_}"
		done
	done
done
equal "$(told "$MNT/model.gguf")" "8  10,11,12,13,14,15,14,15  20,21,22,23,24,25,24,25  $plain"
echo "$TMP/doubled.gguf" >"$MNT/.assemble"
same "$TMP/doubled.gguf" "$MNT/model.gguf"
mount_model -o ro "$TMP/doubled.gguf" "$TMP/doubled"
cmp <(tail -c 1000 "$TMP/doubled/organs/blk_7_ffn_up.bin") \
	<(tail -c 1000 "$MNT/organs/blk_5_ffn_up.bin")
unmount_and_wait "$TMP/doubled"

# Block 1 is pruned: the others move up, and until then nothing is assembled.
rm "$MNT"/*/blk_6_*.bin "$MNT"/*/blk_7_*.bin
equal "$(cat "$MNT/.grafts")" ''
rm "$MNT"/*/blk_1_*.bin
expect_fail 'Invalid argument' eval 'echo "$TMP/gap.gguf" >"$MNT/.assemble"'
absent "$TMP/gap.gguf"
assembly_says 'missing: 1;'
for n in 2 3 4 5; do
	for file in "$MNT"/*/blk_${n}_*.bin; do
		mv "$file" "${file/blk_${n}_/blk_$((n - 1))_}"
	done
done
equal "$(told "$MNT/model.gguf")" "5  10,12,13,14,15  20,22,23,24,25  $plain"
"$GGUF" organs "$MNT/model.gguf" | cut -f 1 | grep -c '^blk\.4\.' | grep -qx 9
! "$GGUF" organs "$MNT/model.gguf" | grep -q '^blk\.5\.' || fail 'block 5 is still there'
cp "$MNT/model.gguf" "$TMP/pruned.gguf"
unmount_and_wait
same "$TMP/arrays.grafted.gguf" "$TMP/pruned.gguf"

# Organs alone from another block are no moved block; edited arrays stay as they are.
mount_model -o noassemble "$TMP/arrays.gguf"
cp "$MNT/organs/blk_5_ffn_up.bin" "$MNT/organs/blk_2_ffn_up.bin"
equal "$(told "$MNT/model.gguf")" "6  10,11,12,13,14,15  20,21,22,23,24,25  $plain"
kill_daemon
mount_model -o noassemble,blocks=keep "$TMP/arrays.gguf"
rm "$MNT"/*/blk_5_*.bin
equal "$(told "$MNT/model.gguf")" "6  10,11,12,13,14,15  20,21,22,23,24,25  $plain"
kill_daemon

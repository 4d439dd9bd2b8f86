#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# timeout: 300
# Organs of a layer are damaged between two mounts: an organ reads as it was put in force, or is
# unreadable, .log names it, and no model is assembled from it.
. "${0%/*}/../lib.sh"

base=$(use stories260K)
donor=$MODELS/stories260K-donor.gguf
# Five organs are in rows, one is in a file.
SLOTS='organs/blk_0_ffn_up organs/blk_1_ffn_up organs/blk_2_ffn_up organs/blk_3_ffn_up
	organs/blk_4_ffn_up embed/token_embd'
mount_model -o "layer=$TMP/plain,compress=off" "$base"
for block in 0 1 2 3 4; do
	"$GGUF" organ "$donor" blk.$block.ffn_up.weight "$TMP/blk_${block}_ffn_up.bin"
done
"$GGUF" organ "$base" token_embd.weight "$TMP/token_embd.bin"
printf 'other' | dd of="$TMP/token_embd.bin" bs=1 seek=100 conv=notrunc status=none
for slot in $SLOTS; do
	cp "$TMP/${slot##*/}.bin" "$MNT/$slot.bin"
done
echo "$TMP/expected" >"$MNT/.assemble"
unmount_and_wait

# damage LAYER SLOT: change a byte of an uncompressed organ.
damage() {
	local file
	file=$(layer_file "$1" "$2")
	if [ -n "$file" ]; then
		printf 'x' | dd of="$file" bs=1 seek=20000 conv=notrunc status=none
	else
		layer_change "$1" "UPDATE blob SET bytes = CAST(substr(bytes, 1, 20000) || X'78' ||
			substr(bytes, 20002) AS BLOB) WHERE number = (SELECT blob FROM slot
			WHERE class || '/' || name = '$2')"
	fi
}
for wrong in organs/blk_2_ffn_up embed/token_embd; do
	rm -rf "$TMP/layer" "$TMP/out.gguf"
	cp -r "$TMP/plain" "$TMP/layer"
	damage "$TMP/layer" $wrong
	mount_model -o "layer=$TMP/layer,output=$TMP/out.gguf" "$base"
	equal "$(wc -l <"$MNT/.grafts")" 6 'lines in .grafts'
	! grep -q corrupt "$MNT/.log" || fail 'it was looked at before it was read'
	expect_fail 'input/output' dd if="$MNT/$wrong.bin" of=/dev/null bs=10 count=1
	expect_fail 'input/output' cat "$MNT/$wrong.bin"
	log_says "$TMP/layer/$wrong.bin: cannot be read: .*corrupt: .*XXH128"
	equal "$(grep -c corrupt "$MNT/.log")" 1 'sentences about it'
	for slot in $SLOTS; do
		[ $slot = $wrong ] || same "$MNT/$slot.bin" "$TMP/${slot##*/}.bin"
	done
	expect_fail 'input/output' bash -c "echo '$TMP/chimera.gguf' >'$MNT/.assemble'"
	assembly_says "$wrong.bin"
	absent "$TMP/chimera.gguf"
	# A new graft heals it.
	cp "$TMP/${wrong##*/}.bin" "$MNT/${wrong%/*}/"
	same "$MNT/model.gguf" "$TMP/expected"
	unmount_and_wait
	same "$TMP/out.gguf" "$TMP/expected"
done

# An unmount with such an organ assembles nothing, and keeps the grafts.
rm -r "$TMP/layer" "$TMP/out.gguf"
cp -r "$TMP/plain" "$TMP/layer"
damage "$TMP/layer" organs/blk_2_ffn_up
mount_model -o "layer=$TMP/layer,output=$TMP/out.gguf" "$base"
pid=${DAEMON[$MNT]}
unmount
until_true 60 is_gone "$pid" || fail 'the daemon stays'
status=0
wait "$pid" || status=$?
unset "DAEMON[$MNT]"
equal $status 1 'exit status of the daemon'
absent "$TMP/out.gguf"

# Random damage: bytes changed, cut off or emptied, in organs in rows and in files of both kinds,
# or in their checksums.
mount_model -o "layer=$TMP/packed,compress=1" "$base"
mkdir "$TMP/shrinks"
for slot in $SLOTS; do
	# The organ compresses, if it is large enough.
	python3 - "$TMP/${slot##*/}.bin" "$TMP/shrinks/${slot##*/}.bin" <<'END'
import sys
data = bytearray(open(sys.argv[1], 'rb').read())
head = 4 + int.from_bytes(data[:4], 'little') + 4 + 16 + 4
for i in range(head, len(data), 4):
    data[i] = data[i + 1] = 0
open(sys.argv[2], 'wb').write(data)
END
	cp "$TMP/shrinks/${slot##*/}.bin" "$MNT/$slot.bin"
done
unmount_and_wait
equal "$(layer_sql "$TMP/packed" "SELECT count(*) FROM blob WHERE form = 'zstd'")" 1
cat >"$TMP/change.py" <<'END'
import os, random, sqlite3, sys
rng = random.Random(int(sys.argv[2]))
def changed(data):
    data = bytearray(data)
    for _ in range(rng.choice((0, 0, 1, 1, 5))):
        what, size = rng.randrange(4), len(data)
        if not size:
            break
        at = rng.choice((rng.randrange(size), size - 1 - rng.randrange(min(size, 40))))
        if what < 2:
            data[at] = rng.randrange(256)
        elif what == 2:
            more = rng.choice((b'\0', b'\xff')) * rng.choice((4, 8))
            data[at:at + len(more)] = more
        elif rng.randrange(3) == 0:
            del data[rng.choice((0, at)):]
    return bytes(data)
rows = sqlite3.connect(sys.argv[1] + '/layer.db', isolation_level=None)
# Damage the organs, or their checksums.
sums = rng.randrange(4) == 0
for number, data, xxh128 in rows.execute('SELECT number, bytes, xxh128 FROM blob').fetchall():
    if sums:
        xxh128 = changed(xxh128.encode()).decode('latin-1')
        xxh128 = (''.join(c for c in xxh128 if c in '0123456789abcdef') + 32 * '0')[:32]
        rows.execute('UPDATE blob SET xxh128 = ? WHERE number = ?', (xxh128, number))
    elif data is not None:
        data = changed(data) # another size than in the row would be a damaged database
        rows.execute('UPDATE blob SET bytes = ?, size = ? WHERE number = ?',
                     (data, len(data), number))
    else:
        path = f'{sys.argv[1]}/blobs/{number}'
        with open(path, 'rb') as f:
            data = f.read()
        with open(path, 'wb') as f:
            f.write(changed(data))
END
for seed in $(seq 1 "$(rounds 30 8)"); do
	rm -rf "$TMP/layer"
	form=$([ $((seed % 3)) = 0 ] && echo plain || echo packed)
	cp -r "$TMP/$form" "$TMP/layer"
	python3 "$TMP/change.py" "$TMP/layer" "$seed"
	mount_model -o "layer=$TMP/layer,noassemble" "$base"
	equal "$(wc -l <"$MNT/.grafts")" 6 "grafts of seed $seed"
	for slot in $SLOTS; do
		what=$TMP/${slot##*/}.bin
		[ $form = plain ] || what=$TMP/shrinks/${slot##*/}.bin
		if cat "$MNT/$slot.bin" >"$TMP/read" 2>/dev/null; then
			same "$TMP/read" "$what"
		else
			grep -q "${slot##*/}.bin" "$MNT/.log" ||
				fail "seed $seed: no word of $slot: $(cat "$MNT/.log")"
			expect_fail . bash -c "echo '$TMP/chimera.gguf' >'$MNT/.assemble'"
		fi
	done
	ls -lR "$MNT" >/dev/null
	unmount_and_wait
done

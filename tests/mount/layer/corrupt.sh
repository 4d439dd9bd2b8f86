#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# timeout: 300
# Whatever happens to the files of a layer between two mounts: an organ reads as it was put in
# force, or it cannot be read, .log says which file is wrong, and no model is assembled from it.
. "${0%/*}/../lib.sh"

base=$(use stories260K)
donor=$MODELS/stories260K-donor.gguf
mount_model -o "layer=$TMP/plain,compress=off" "$base"
for block in 0 1 2 3 4; do
	"$GGUF" organ "$donor" blk.$block.ffn_up.weight "$TMP/blk_${block}_ffn_up.bin"
	cp "$TMP/blk_${block}_ffn_up.bin" "$MNT/organs/"
done
unmount_and_wait

# One byte of an organ that is kept as it is.
cp -r "$TMP/plain" "$TMP/layer"
printf 'x' | dd of="$TMP/layer/organs/blk_2_ffn_up.bin" bs=1 seek=20000 conv=notrunc status=none
mount_model -o "layer=$TMP/layer,output=$TMP/out.gguf" "$base"
equal "$(wc -l <"$MNT/.grafts")" 5 'lines in .grafts'
! grep -q corrupt "$MNT/.log" || fail 'it was looked at before it was read'
expect_fail 'input/output' dd if="$MNT/organs/blk_2_ffn_up.bin" of=/dev/null bs=10 count=1
expect_fail 'input/output' cat "$MNT/organs/blk_2_ffn_up.bin"
log_says "$TMP/layer/organs/blk_2_ffn_up.bin: cannot be read: .*corrupt: .*XXH128"
equal "$(grep -c corrupt "$MNT/.log")" 1 'sentences about it'
for block in 0 1 3 4; do
	same "$MNT/organs/blk_${block}_ffn_up.bin" "$TMP/blk_${block}_ffn_up.bin"
done
expect_fail 'input/output' bash -c "echo '$TMP/chimera.gguf' >'$MNT/.assemble'"
assembly_says 'organs/blk_2_ffn_up.bin'
absent "$TMP/chimera.gguf"
# A new one heals it.
cp "$TMP/blk_2_ffn_up.bin" "$MNT/organs/"
"$GGUF" splice "$base" "$donor" 'blk.*.ffn_up.weight' "$TMP/expected"
same "$MNT/model.gguf" "$TMP/expected"
unmount_and_wait
same "$TMP/out.gguf" "$TMP/expected"

# An unmount does not write a model from it either, and keeps the grafts.
rm -r "$TMP/layer" "$TMP/out.gguf"
cp -r "$TMP/plain" "$TMP/layer"
printf 'x' | dd of="$TMP/layer/organs/blk_2_ffn_up.bin" bs=1 seek=20000 conv=notrunc status=none
mount_model -o "layer=$TMP/layer,output=$TMP/out.gguf" "$base"
pid=${DAEMON[$MNT]}
unmount
until_true 60 is_gone "$pid" || fail 'the daemon stays'
status=0
wait "$pid" || status=$?
unset "DAEMON[$MNT]"
equal $status 1 'exit status of the daemon'
absent "$TMP/out.gguf"

# At random: bytes changed, files cut off, lengthened, emptied, of both kinds.
mount_model -o "layer=$TMP/packed,compress=1" "$base"
for block in 0 1 2 3 4; do
	# So that it shrinks.
	python3 - "$TMP/blk_${block}_ffn_up.bin" "$TMP/shrinks_$block" <<'END'
import sys
data = bytearray(open(sys.argv[1], 'rb').read())
head = 4 + int.from_bytes(data[:4], 'little') + 4 + 16 + 4
for i in range(head, len(data), 4):
    data[i] = data[i + 1] = 0
open(sys.argv[2], 'wb').write(data)
END
	cp "$TMP/shrinks_$block" "$MNT/organs/blk_${block}_ffn_up.bin"
done
unmount_and_wait
exists "$TMP/packed/organs/blk_0_ffn_up.bin.zst"
for seed in $(seq 1 "$(rounds 30 8)"); do
	rm -rf "$TMP/layer"
	form=$([ $((seed % 3)) = 0 ] && echo plain || echo packed)
	cp -r "$TMP/$form" "$TMP/layer"
	python3 - "$TMP/layer" "$seed" <<'END'
import glob, os, random, sys
rng = random.Random(int(sys.argv[2]))
# The organs, or what is recorded of them.
sums = rng.randrange(4) == 0
for path in sorted(glob.glob(sys.argv[1] + '/organs/*')):
    if path.endswith('.xxh128') != sums:
        continue
    size = os.path.getsize(path)
    with open(path, 'r+b') as f:
        for _ in range(rng.choice((0, 0, 1, 1, 5))):
            what = rng.randrange(4)
            at = rng.choice((rng.randrange(size), size - 1 - rng.randrange(min(size, 40))))
            f.seek(at)
            if what < 2:
                f.write(bytes([rng.randrange(256)]))
            elif what == 2:
                f.write(rng.choice((b'\0', b'\xff')) * rng.choice((4, 8)))
            elif rng.randrange(3) == 0:
                f.truncate(rng.choice((0, at)))
END
	mount_model -o "layer=$TMP/layer" "$base"
	for block in 0 1 2 3 4; do
		organ=$MNT/organs/blk_${block}_ffn_up.bin
		what=$TMP/blk_${block}_ffn_up.bin
		[ $form = plain ] || what=$TMP/shrinks_$block
		if cat "$organ" >"$TMP/read" 2>/dev/null; then
			same "$TMP/read" "$what"
		else
			grep -Eq "blk_${block}_ffn_up.bin" "$MNT/.log" ||
				fail "seed $seed: no word of block $block: $(cat "$MNT/.log")"
			expect_fail . bash -c "echo '$TMP/chimera.gguf' >'$MNT/.assemble'"
		fi
	done
	ls -lR "$MNT" >/dev/null
	cat "$MNT/.grafts" >/dev/null
	unmount_and_wait
done

#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# .views/spectral and .views/fractal: the same bytes however they are read, in organ files that can
# be grafted; tensors that are no matrix of weights are unchanged.
. "${0%/*}/../lib.sh"

python3=$(PATH=/usr/bin:$PATH command -v python3)
"$python3" -c 'import numpy' 2>/dev/null && numpy=yes || numpy=

mount_model "$(use scribe-Q4_K_M)"

# Read a file in pages, in any order.
pages() {
	python3 - "$1" "$2" <<'END'
import os
import random
import sys

size, out = os.path.getsize(sys.argv[1]), bytearray()
out = bytearray(size)
file = os.open(sys.argv[1], os.O_RDONLY | os.O_DIRECT)
places = list(range(0, size, 4096))
random.Random(4).shuffle(places)
for place in places:
    piece = os.pread(file, 4096, place)
    out[place:place + len(piece)] = piece
open(sys.argv[2], "wb").write(out)
END
}
for form in spectral fractal; do
	organ=$MNT/.views/$form/organs/blk_0_ffn_down.bin
	pages "$organ" "$TMP/pages"
	same "$organ" "$TMP/pages"
	equal "$(getfattr --absolute-names --only-values -n user.organfs.type "$organ")" Q8_0
	equal "$(getfattr --absolute-names --only-values -n user.organfs.shape "$organ")" 512x256
	differ "$organ" "$MNT/organs/blk_0_ffn_down.bin"
	[ -z "$numpy" ] || "$python3" "$here/../tools/views.py" $form \
		"$MNT/organs/blk_0_ffn_down.bin" "$organ" 256 >/dev/null
	for norm in "$MNT"/norm/*.bin; do
		same "$norm" "$MNT/.views/$form/norm/${norm##*/}"
	done
done
differ "$MNT/.views/spectral/organs/blk_0_ffn_up.bin" "$MNT/.views/fractal/organs/blk_0_ffn_up.bin"

# A whole model is grafted, and undone organ by organ.
cp -r "$MNT/.views/fractal" "$TMP/fractal"
theta=$(cat "$MNT/organs/blk_3_ffn_up.theta")
for class in skeleton organs embed; do
	cp "$MNT/.views/fractal/$class/"*.bin "$MNT/$class/"
done
[ "$(cat "$MNT/organs/blk_3_ffn_up.theta")" != "$theta" ] || fail "θ of blk_3_ffn_up is as before"
for class in skeleton organs embed norm; do
	for organ in "$MNT/$class/"*.bin; do
		same "$organ" "$TMP/fractal/$class/${organ##*/}"
	done
done
equal "$(wc -l <"$MNT/.grafts")" "$(ls "$MNT"/{skeleton,organs,embed}/*.bin | grep -vc output_norm)"
echo "$TMP/pure.gguf" >"$MNT/.assemble"
same "$MNT/model.gguf" "$TMP/pure.gguf"
cp "$MNT"/.base/organs/*.bin "$MNT/organs/"
equal "$(cat "$MNT/organs/blk_3_ffn_up.theta")" "$theta"
! grep -q ^organs "$MNT/.grafts" || fail "left: $(grep ^organs "$MNT/.grafts")"
for class in skeleton embed; do
	cp "$MNT/.base/$class/"*.bin "$MNT/$class/"
done
equal "$(wc -l <"$MNT/.grafts")" 0
unmount_and_wait

# Floating-point types stay.
mount_model -o ro "$MODELS/types.gguf"
for name in f32 f16 bf16 q8_0 q4_0 q6_k iq1_m i32 f64; do
	case $name in
	f32 | f16 | bf16 | i32 | f64) type=${name^^} ;;
	*) type=Q8_0 ;;
	esac
	organ=$MNT/.views/spectral/other/$name.bin
	equal "$(getfattr --absolute-names --only-values -n user.organfs.type "$organ")" $type
	equal "$(stat -c %s "$organ")" "$(wc -c <"$organ")" "size of $organ"
done
unmount_and_wait

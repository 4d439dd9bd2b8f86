#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Grafts over 64 KiB are compressed if that pays; they read back equal at every level, also after a
# kill -9 and at the next mount, and the files are zstd's.
. "${0%/*}/../lib.sh"
need zstd xxhsum

# An F32 model of compressible values, with some organs of more than one frame. The first is the
# base, the second the donor.
base=$TMP/base.gguf
donor=$TMP/donor.gguf
python3 - "$GGUF" "$base" "$donor" <<'END'
import random, struct, sys
def string(s): return struct.pack('<Q', len(s)) + s.encode()
def write(path, seed):
    rng = random.Random(seed)
    tensors = [(f'blk.{b}.ffn_{part}.weight', (1024, 300))
               for b in range(2) for part in ('up', 'gate')]
    tensors += [(f'blk.{b}.ffn_norm.weight', (1024, 1)) for b in range(2)]
    infos, data, at = b'', b'', 0
    for name, (a, b) in tensors:
        infos += string(name) + struct.pack('<IQQIQ', 2, a, b, 0, at)
        # Every third organ is random, and stays uncompressed.
        bits = 0xffffffff if 'gate' in name else 0xfff00000
        body = struct.pack(f'<{a * b}I', *((rng.getrandbits(32) & bits & 0xbfffffff)
                                           for _ in range(a * b)))
        data += body
        at += len(body)
    head = b'GGUF' + struct.pack('<IQQ', 3, len(tensors), 1) + string('general.architecture')
    head += struct.pack('<I', 8) + string('llama') + infos
    head += bytes(-len(head) % 32)
    open(path, 'wb').write(head + data)
write(sys.argv[2], 1)
write(sys.argv[3], 2)
END
"$GGUF" splice "$base" "$donor" 'blk.*' "$TMP/expected"
mount_model -o ro "$donor" "$TMP/donor"

for level in 1 19 off; do
	layer=$TMP/layer-$level
	mount_model -o "layer=$layer,compress=$level" "$base"
	cp "$TMP/donor"/organs/*.bin "$MNT/organs/"
	cp "$TMP/donor"/norm/*.bin "$MNT/norm/"
	for file in "$TMP/donor"/{organs,norm}/*.bin; do
		same "$MNT/${file#"$TMP/donor/"}" "$file"
	done
	same "$MNT/model.gguf" "$TMP/expected"
	whole=$([ $level = off ] && echo 4 || echo 2)
	equal "$(layer_sql "$layer" "SELECT
		count(*) FILTER (WHERE form = 'plain' AND bytes IS NULL),
		count(*) FILTER (WHERE form = 'zstd'), count(bytes) FROM blob")" \
		"$whole|$((4 - whole))|2" "files as they are, compressed, and in rows at $level"
	equal "$(ls "$layer/blobs" | wc -l)" 4 'files'
	kill_daemon
	mount_model -o "layer=$layer,compress=$level" "$base"
	for file in "$TMP/donor"/{organs,norm}/*.bin; do
		same "$MNT/${file#"$TMP/donor/"}" "$file"
		getfattr -n user.organfs.theta "$MNT/${file#"$TMP/donor/"}" >/dev/null 2>&1 ||
			fail "no theta of $file"
	done
	same "$MNT/model.gguf" "$TMP/expected"
	# Ranges cross frames.
	same <(tail -c +1000000 "$MNT/organs/blk_0_ffn_up.bin" | head -c 100000) \
		<(tail -c +1000000 "$TMP/donor/organs/blk_0_ffn_up.bin" | head -c 100000)
	equal "$(wc -l <"$MNT/.grafts")" 6 'lines in .grafts'
	unmount_and_wait
	absent "$TMP/base.grafted.gguf"
	# Tools that do not know organfs can read all of it.
	for file in "$TMP/donor"/{organs,norm}/*.bin; do
		organ=${file#"$TMP/donor/"}
		where="class || '/' || name || '.bin' = '$organ'"
		IFS='|' read -r number form in_row sum < <(layer_sql "$layer" "SELECT number, form,
			bytes IS NOT NULL, xxh128 FROM slot JOIN blob ON blob = number
			WHERE $where")
		case $form$in_row in
		plain1) layer_sql "$layer" "SELECT writefile('$TMP/kept', bytes) FROM slot
			JOIN blob ON blob = number WHERE $where" >"$TMP/size" ;;
		plain0) cp "$layer/blobs/$number" "$TMP/kept" ;;
		zstd0) zstd -q -t "$layer/blobs/$number" &&
			zstd -q -d -c "$layer/blobs/$number" >"$TMP/kept" ;;
		*) fail "$organ is kept as $form in a row: $in_row" ;;
		esac
		same "$TMP/kept" "$file"
		equal "$(xxhsum -q -H2 "$TMP/kept" | cut -c 1-32)" "$sum" "the checksum of $organ"
	done
done
[ "$(stat -c %s "$(layer_file "$TMP/layer-1" organs/blk_0_ffn_up)")" -lt \
	"$(stat -c %s "$(layer_file "$TMP/layer-off" organs/blk_0_ffn_up)")" ] ||
	fail 'nothing was saved'

# A compressed organ or one in a row has no extent; one in a plain file has.
mount_model -o "layer=$TMP/layer-1" "$base"
extent=$(getfattr --only-values -n user.organfs.extent "$MNT/organs/blk_0_ffn_gate.bin")
IFS=: read -r file offset length <<<"$extent"
equal "$file" "$(layer_file "$TMP/layer-1" organs/blk_0_ffn_gate)"
tail -c +$((offset + 1)) "$file" | head -c "$length" |
	cmp - <(tail -c "$length" "$MNT/organs/blk_0_ffn_gate.bin") || fail 'another extent'
expect_fail 'no such attribute' getfattr -n user.organfs.extent "$MNT/norm/blk_0_ffn_norm.bin"
expect_fail 'no such attribute' getfattr -n user.organfs.extent "$MNT/organs/blk_0_ffn_up.bin"
getfattr -d "$MNT/organs/blk_0_ffn_up.bin" 2>&1 | grep -q 'organfs.shape' || fail 'no attributes'
! getfattr -d "$MNT/organs/blk_0_ffn_up.bin" 2>&1 | grep -q extent || fail 'listed'

# Organs of both forms can be shared, edited in place, and undone.
ln -f "$MNT/organs/blk_0_ffn_up.bin" "$MNT/organs/blk_1_ffn_gate.bin"
same "$MNT/organs/blk_1_ffn_gate.bin" "$TMP/donor/organs/blk_0_ffn_up.bin"
equal "$(layer_file "$TMP/layer-1" organs/blk_1_ffn_gate)" \
	"$(layer_file "$TMP/layer-1" organs/blk_0_ffn_up)" 'the file of both'
cp "$TMP/donor/organs/blk_0_ffn_up.bin" "$TMP/edited"
printf 'edited' | dd of="$TMP/edited" bs=1 seek=1048570 conv=notrunc status=none
printf 'edited' | dd of="$MNT/organs/blk_0_ffn_up.bin" bs=1 seek=1048570 conv=notrunc status=none
same "$MNT/organs/blk_0_ffn_up.bin" "$TMP/edited"
same "$MNT/organs/blk_1_ffn_gate.bin" "$TMP/donor/organs/blk_0_ffn_up.bin"
unmount_and_wait
mount_model -o "layer=$TMP/layer-1" "$base"
same "$MNT/organs/blk_0_ffn_up.bin" "$TMP/edited"
same "$MNT/organs/blk_1_ffn_gate.bin" "$TMP/donor/organs/blk_0_ffn_up.bin"
for file in "$MNT"/{organs,norm}/*.bin; do
	cp "$MNT/.base/${file#"$MNT/"}" "$file"
done
same "$MNT/model.gguf" "$base"
equal "$(layer_sql "$TMP/layer-1" 'SELECT count(*) FROM slot' 'SELECT count(*) FROM blob')" \
	$'0\n0' 'rows that are left of the grafts'
equal "$(ls -A "$TMP/layer-1/blobs")" '' 'files that are left of them'
unmount_and_wait
unmount_and_wait "$TMP/donor"

#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# A content is hashed at its first read, and only once; other contents are not hashed.
. "${0%/*}/../lib.sh"

need getfattr find du xxhsum
hashed() {
	getfattr --only-values -n user.organfs.hashed "$MNT"
}
base=$(use scribe-Q4_K_M)
mount_model -o views=listed "$base"
organs=$(find "$MNT/skeleton" "$MNT/organs" "$MNT/embed" "$MNT/norm" -name '*.bin' | wc -l)
sums=$MNT/checksums.xxh128
lines=$MNT/.views/gguf-hash.xxh64

find "$MNT" -printf '%s %b %t %i %p\n' >"$TMP/sizes"
grep -q /gguf-hash.xxh64 "$TMP/sizes" || fail '.views is not listed'
ls -lRa "$MNT" >"$TMP/listing"
du -a "$MNT" >"$TMP/du"
stat "$sums" "$lines" "$MNT/.views" >"$TMP/stat"
getfattr -R -d -m - "$MNT" >"$TMP/attributes" 2>/dev/null || true # as a file manager reads
cat "$MNT"/*/.theta "$MNT/manifest.json" >"$TMP/read"
equal "$(wc -c <"$sums")" "$(stat -c %s "$sums")"
cat "$MNT/organs/blk_2_ffn_up.bin" >"$TMP/read"
equal "$(hashed)" 0 'hashed by looking'

# Read the first line, and one in the middle.
head -c 40 "$sums" >"$TMP/read"
equal "$(hashed)" 1 'for the first line'
dd if="$sums" bs=1 skip=1700 count=60 status=none >"$TMP/read"
[ "$(hashed)" -le 3 ] || fail "$(hashed) hashed for the first line and another"
getfattr -n user.organfs.xxh128 "$MNT/skeleton/blk_0_attn_k.bin" >"$TMP/read"
[ "$(hashed)" -le 3 ] || fail 'the first organ is hashed again'
cat "$sums" "$sums" >"$TMP/read"
getfattr -n user.organfs.xxh128 "$MNT"/*/*.bin "$MNT"/.base/*/*.bin >"$TMP/read"
equal "$(hashed)" "$organs" 'hashed in all'
equal "$(getfattr --only-values -n user.organfs.measured "$MNT")" "$organs" 'measured by that'

# A graft has another content; the base's hash stays known.
exec 7<"$sums"
before=$(grep organs/blk_2_ffn_up "$sums")
cp "$MNT/organs/blk_1_ffn_up.bin" "$MNT/organs/blk_2_ffn_up.bin"
cat "$sums" >"$TMP/read"
equal "$(hashed)" $((organs + 1)) 'hashed after a graft'
equal "$(grep organs/blk_2_ffn_up <&7)" "$before" 'read from before the graft'
exec 7<&-
cp "$MNT/.base/organs/blk_2_ffn_up.bin" "$MNT/organs/blk_2_ffn_up.bin"
equal "$(grep organs/blk_2_ffn_up "$sums")" "$before" 'after it was undone'
equal "$(hashed)" $((organs + 1)) 'hashed after that'

# gguf-hash.xxh64 has other hashes; the model's is an additional one, and no organ's.
head -c 40 "$lines" >"$TMP/read"
equal "$(hashed)" $((organs + 2)) 'for the first line of another kind'
cat "$lines" "$lines" >"$TMP/read"
equal "$(hashed)" $((2 * organs + 1)) 'of both kinds'
unmount_and_wait

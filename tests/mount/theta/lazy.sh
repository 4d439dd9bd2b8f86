#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# A content is measured at its first read, and only once; other contents are not measured.
. "${0%/*}/../lib.sh"

need getfattr find du
measured() {
	getfattr --only-values -n user.organfs.measured "$MNT"
}
base=$(use scribe-Q4_K_M)
mount_model "$base"
tensors=$(find "$MNT" -name '*.bin' | wc -l)

equal "$(measured)" 0 'measured at mount'
find "$MNT" -printf '%s %b %t %i %p\n' >"$TMP/sizes"
ls -lRa "$MNT" >"$TMP/listing"
du -a "$MNT" >"$TMP/du"
stat "$MNT"/*/*.theta "$MNT"/*/.theta "$MNT"/{.theta,.report.json,theta.svg} >"$TMP/stat"
getfattr -R -d -m - "$MNT" >"$TMP/attributes" 2>/dev/null || true # as a file manager reads
tail -c 0 "$MNT/.theta"
equal "$(measured)" 0 'measured by looking'

# wc -c reads nothing if it believes the size; cat does.
for file in "$MNT"/*/*.theta "$MNT"/*/.theta "$MNT/.theta" "$MNT/theta.svg" "$MNT/manifest.json" \
	"$MNT/.report.json"; do
	equal "$(wc -c <"$file")" "$(stat -c %s "$file")" "$file, wc"
done
equal "$(measured)" 0 'measured by wc'
equal "$(cat "$MNT/organs/blk_2_ffn_up.theta" | wc -c)" 6
equal "$(measured)" 1 'measured for one file'
cat "$MNT/organs/blk_2_ffn_up.theta" >/dev/null
getfattr -n user.organfs.kurtosis "$MNT/organs/blk_2_ffn_up.bin" >/dev/null
equal "$(measured)" 1 'measured again'

# The head of a table may be read byte by byte.
head -c 300 "$MNT/organs/.theta" >/dev/null
dd if="$MNT/skeleton/.theta" bs=100 count=1 status=none >/dev/null
[ "$(measured)" -le 20 ] || fail "$(measured) measured for the first lines of two tables"

for file in "$MNT"/*/*.theta "$MNT"/*/.theta "$MNT/.theta" "$MNT/theta.svg" "$MNT/manifest.json" \
	"$MNT/.report.json"; do
	equal "$(cat "$file" | wc -c)" "$(stat -c %s "$file")" "$file, cat"
done
equal "$(measured)" "$tensors" 'measured in all'
grep -c . "$MNT/manifest.json" "$MNT/theta.svg" "$MNT"/*/.theta >/dev/null
equal "$(measured)" "$tensors" 'measured once more'

# A graft has another content.
before=$(cat "$MNT/organs/blk_2_ffn_up.theta")
exec 7<"$MNT/organs/blk_2_ffn_up.theta"
cp "$MNT/skeleton/blk_0_attn_q.bin" "$TMP/organ"
expect_fail 'Invalid argument' cp "$TMP/organ" "$MNT/organs/blk_2_ffn_up.bin"
cp "$MNT/organs/blk_1_ffn_up.bin" "$MNT/organs/blk_2_ffn_up.bin"
equal "$(measured)" "$tensors" 'measured by a graft'
equal "$(cat "$MNT/organs/blk_2_ffn_up.theta")" "$(cat "$MNT/organs/blk_1_ffn_up.theta")"
equal "$(cat <&7)" "$before" 'read from before the graft'
exec 7<&-
equal "$(awk '$1 == "organs/blk_2_ffn_up.bin" { print $4 }' "$MNT/organs/.theta")" \
	"$(cat "$MNT/organs/blk_1_ffn_up.theta")" 'in the table'
equal "$(measured)" $((tensors + 1)) 'measured after a graft'
unmount_and_wait

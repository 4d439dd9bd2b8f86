#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# An assembly into shards writes all of them or none, and together they are the model.
. "${0%/*}/../lib.sh"

base=$(use scribe-Q4_K_M)
mkdir "$TMP/out" "$TMP/donor"
mount_model -o ro "$MODELS/clerk-Q4_K_M.gguf" "$TMP/donor"
mount_model -o noassemble "$base"
cp "$TMP"/donor/organs/blk_2_ffn_*.bin "$MNT/organs/"
cp "$TMP/donor/embed/token_embd.bin" "$MNT/embed/"
echo 'a text that is longer than what was there before' >"$MNT/metadata/general.name"

# assemble SIZE: write shards of that size, relative to the working directory.
assemble() {
	rm -f "$TMP"/out/*
	(cd "$TMP/out" && echo "part-%05d-of-%05d.gguf split=$1" >"$MNT/.assemble")
}
for size in 1 400000 1M 1T; do
	assemble $size
	n=$(ls "$TMP/out" | wc -l)
	case $size in
	1) equal "$n" 57 'one shard a tensor' ;;
	1[GT]) equal "$n" 1 ;;
	*) [ "$n" -gt 1 ] && [ "$n" -lt 57 ] || fail "$n shards of $size" ;;
	esac
	grep -Eq "^assembled: part-%05d-of-%05d.gguf: [0-9]+ bytes in $n shards?, 5 grafts" \
		"$MNT/.assemble" || fail "$(cat "$MNT/.assemble")"
	[ "$n" = 1 ] && continue
	# No shard exceeds that size, unless it is one tensor.
	for shard in "$TMP"/out/*; do
		"$GGUF" organs "$shard" | awk -F '\t' -v most="$(numfmt --from=si $size)" '
			{ sum += int(($5 + 31) / 32) * 32 } END { exit NR > 1 && sum > most }' ||
			fail "$shard is too large for $size"
	done
	mount_model -o ro "$TMP/out/part-00002-of-$(printf %05d "$n").gguf" "$TMP/mnt2"
	same "$TMP/mnt2/model.gguf" "$MNT/model.gguf"
	unmount_and_wait "$TMP/mnt2"
done

# The model's own split works for any base: its alignment stays.
"$GGUF" variant "$MODELS/stories260K.gguf" "$TMP/aligned.gguf" --align 4096
mount_model -o noassemble "$TMP/aligned.gguf" "$TMP/mnt2"
echo "$TMP/out/al-%05d-of-%05d.gguf split=300K" >"$TMP/mnt2/.assemble"
unmount_and_wait "$TMP/mnt2"
mount_model -o noassemble "$(ls "$TMP"/out/al-00001*)" "$TMP/mnt2"
same "$TMP/mnt2/model.gguf" "$TMP/aligned.gguf"
echo "$TMP/out/again-%05d-of-%05d.gguf split=300K" >"$TMP/mnt2/.assemble"
unmount_and_wait "$TMP/mnt2"
for shard in "$TMP"/out/al-*; do
	same "$shard" "${shard/al-/again-}"
done

# Names that no program finds, and invalid sizes, are refused.
refused() {
	expect_fail 'Invalid argument' eval "echo '$1' >$MNT/.assemble"
	grep -q "^failed: .*$2" "$MNT/.assemble" || fail "$(cat "$MNT/.assemble")"
}
rm "$TMP"/out/*
for size in 0 -1 4X 4GB '' 99999999999999999999; do
	refused "$TMP/out/x-%05d-of-%05d.gguf split=$size" 'the limit of tensor bytes'
done
refused "$TMP/out/x-%05d-of-%05d.gguf" 'the limit of tensor bytes'
refused "$TMP/out/x%05d-of-%05d.gguf split=1M" 'has to end in'
refused "$TMP/out/x-%05d-of-%05d.bin split=1M" 'has to end in'
refused "$TMP/%05d-of-%05d/x-%05d-of-%05d.gguf split=1M" 'has to end in'
equal "$(ls -A "$TMP/out")" ''
# Without shards in the name the model is one file.
echo "$TMP/out/a split=1M" >"$MNT/.assemble"
same "$TMP/out/a split=1M" "$MNT/model.gguf"
rm "$TMP/out/a split=1M"

# An existing shard stays, and no other appears.
assemble 1M
n=$(printf %05d "$(ls "$TMP/out" | wc -l)")
before=$(cat "$TMP"/out/* | sha256sum)
rm "$TMP/out/part-00001-of-$n.gguf"
expect_fail 'File exists' eval "echo '$TMP/out/part-%05d-of-%05d.gguf split=1M' >$MNT/.assemble"
grep -q "part-00002-of-$n.gguf exists" "$MNT/.assemble" || fail "$(cat "$MNT/.assemble")"
absent "$TMP/out/part-00001-of-$n.gguf"
equal "$(ls -A "$TMP/out" | wc -l)" $((10#$n - 1))
assemble 1M
equal "$(cat "$TMP"/out/* | sha256sum)" "$before"

# Targets in the mount itself and on a full disk are refused.
refused "$MNT/x-%05d-of-%05d.gguf split=1M" 'in this mount itself'
if [ "$(id -u)" = 0 ]; then
	mkdir "$TMP/small"
	mount -t tmpfs -o size=1200k tmpfs "$TMP/small"
	trap 'umount -l "$TMP/small"' EXIT
	expect_fail 'No space left' eval \
		"echo '$TMP/small/x-%05d-of-%05d.gguf split=700K' >$MNT/.assemble"
	equal "$(ls -A "$TMP/small")" ''
	umount "$TMP/small"
	trap - EXIT
fi
unmount_and_wait
unmount_and_wait "$TMP/donor"

#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# .views/types: the bytes of llama-quantize, in organ files that can be grafted, undone and made
# again by a recipe; no file if the type cannot encode the tensor.
. "${0%/*}/../lib.sh"

need xxhsum
base=$TMP/scribe.gguf
cp "$here/../models/scribe-f16-tensors.gguf" "$base"
mount_model -o noassemble "$base"
types=$MNT/.views/types
equal "$(ls "$types" | wc -l)" 24
equal "$(ls "$types/q4_k")" "$(printf '%s\n' embed loss.tsv norm organs skeleton)"

# The table's tensors, by file name.
while IFS=$'\t' read -r importance type tensor _ bytes hash; do
	[ "$importance" = no ] || continue
	name=${tensor%.weight}
	organ=$(echo "$types/$type/"*"/${name//./_}.bin")
	equal "$(tail -c "$bytes" "$organ" | xxhsum -H2 | cut -d ' ' -f 1)" "$hash" "$type $tensor"
done < <(tail -n +2 "$here/../unit/golden_quantise.tsv" | some 40)

# The size is known before the bytes, the type is shown, and the own type has the own bytes.
organ=$(cd "$MNT" && ls organs/*.bin | head -n 1)
name=${organ#organs/}
equal "$(stat -c %s "$types/q6_k/$organ")" "$(wc -c <"$types/q6_k/$organ")"
equal "$(getfattr --absolute-names --only-values -n user.organfs.type "$types/q6_k/$organ")" Q6_K
same "$types/f16/$organ" "$MNT/$organ"
expect_fail 'permission denied|read-only' cp "$MNT/$organ" "$types/q6_k/$organ"

# Graft a view, beside the base's organ.
before=$(checksum "$MNT/model.gguf")
cp "$types/q6_k/$organ" "$TMP/$name"
cp "$types/q6_k/$organ" "$MNT/$organ"
same "$MNT/$organ" "$TMP/$name"
same "$types/q6_k/$organ" "$TMP/$name"
equal "$(cut -f 1-3 "$MNT/.grafts")" "$organ	copy	Q6_K"
cat "$MNT/.recipe" >"$TMP/recipe"
grep -q 'view: types/q6_k' "$TMP/recipe" || fail "$(cat "$TMP/recipe")"
after=$(checksum "$MNT/model.gguf")
[ "$after" != "$before" ] || fail 'the model is as before'
echo "$organ" >"$MNT/.undo"
equal "$(checksum "$MNT/model.gguf")" "$before"
cat "$TMP/recipe" >"$MNT/.recipe"
equal "$(checksum "$MNT/model.gguf")" "$after"
kill_daemon
mount_model -o noassemble "$base"
equal "$(checksum "$MNT/model.gguf")" "$after"
grep -q 'view: types/q6_k' "$MNT/.recipe" || fail 'the view is not known any more'

# A view of the slot's own type has the slot's donor; a view of a view has none, because no single
# view gives its bytes.
cp "$types/q6_k/$organ" "$MNT/$organ"
grep -q 'view: types/q6_k' "$MNT/.recipe" || fail "$(cat "$MNT/.recipe")"
cp "$types/q8_0/$organ" "$MNT/$organ"
equal "$(cut -f 1-3 "$MNT/.grafts")" "$organ	copy	Q8_0"
! grep -q 'view:' "$MNT/.recipe" || fail "$(cat "$MNT/.recipe")"

# Quantised tensors are decoded and encoded again; rows that are no whole blocks have no such type.
unmount_and_wait
mount_model -o ro "$(use stories260K)"
[ -e "$MNT/.views/types/q8_0/organs/blk_0_ffn_up.bin" ] || fail 'no Q8_0 of rows of 64'
absent "$MNT/.views/types/q4_k/organs/blk_0_ffn_up.bin"
equal "$(ls "$MNT/.views/types/q4_k/organs")" ''
find "$MNT/.views/types" -type f | some 60 | while read -r file; do
	equal "$(wc -c <"$file")" "$(stat -c %s "$file")" "$file"
done
unmount_and_wait

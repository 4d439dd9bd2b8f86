#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# An assembly refuses a target that another mount has as its base or donor, and, without ! or -f, a
# file of another program.
. "${0%/*}/../lib.sh"

base=$(use scribe-Q4_K_M)
donor=$(use clerk-Q4_K_M)
linked=$TMP/linked.gguf
merged=$TMP/merged.gguf
cp "$donor" "$linked"
cp "$donor" "$merged"
cp "$donor" "$TMP/free.gguf"
mkdir "$TMP/donor" "$TMP/linked"

# assemble NAME: output and exit status of a shell's echo into .assemble.
assemble() {
	bash -c 'echo "$1" >"$2"' - "$1" "$MNT/.assemble"
}
in_use() {
	before=$(checksum "$1")
	expect_fail 'busy' assemble "${2-}$1"
	assembly_says "the target is the base or a donor of $3"
	expect_fail "the target is the base or a donor of $3" \
		"$ORGANFS" --pack -f "$TMP/free.gguf" "$1"
	equal "$(checksum "$1")" "$before"
}

mount_model -o noassemble "$base"
mount_model -o ro "$donor" "$TMP/donor"
in_use "$donor" '' "the mount at $TMP/donor"
in_use "$donor" '!' "the mount at $TMP/donor"
ln "$donor" "$TMP/hard.gguf"
in_use "$TMP/hard.gguf" '' 'a mount'
ln -s "$donor" "$TMP/soft.gguf"
in_use "$TMP/soft.gguf" '' "the mount at $TMP/donor"

# One file is the donor of a link, another the model of a merge, also at the next mount.
mount_model -o ro "$linked" "$TMP/linked"
ln -sf "$TMP/linked/organs/blk_1_ffn_up.bin" "$MNT/organs/blk_1_ffn_up.bin"
unmount_and_wait "$TMP/linked"
printf '%s\n' 'merge_method: linear' 'parameters: {weight: 1}' 'models:' "- model: $base" \
	"- model: $merged" >"$TMP/merge.yml"
cp "$TMP/merge.yml" "$MNT/.merge"
for again in '' yes; do
	in_use "$linked" '!' 'a mount of organfs'
	in_use "$merged" '!' 'a mount of organfs'
	[ -n "$again" ] || {
		unmount_and_wait
		mount_model -o noassemble "$base"
		cat "$MNT/model.gguf" >/dev/null
	}
done
echo all >"$MNT/.undo"

# A file of another program is refused, one's own is replaced, also in another mount.
expect_fail 'exists' assemble "$TMP/free.gguf"
assembly_says 'organfs did not write its content; .* a ! before its name'
same "$TMP/free.gguf" "$donor"
assemble "!$TMP/free.gguf"
same "$TMP/free.gguf" "$MNT/model.gguf"
rm "$MNT/organs/blk_1_ffn_up.bin"
assemble "$TMP/free.gguf"
same "$TMP/free.gguf" "$MNT/model.gguf"
unmount_and_wait
mount_model -o noassemble "$base"
(cd "$TMP" && echo '!free.gguf' >"$MNT/.assemble" && echo free.gguf >"$MNT/.assemble")
same "$TMP/free.gguf" "$MNT/model.gguf"
# A model that is no longer in use may be replaced.
unmount_and_wait "$TMP/donor"
assemble "!$donor"
same "$donor" "$MNT/model.gguf"
unmount_and_wait

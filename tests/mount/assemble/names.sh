#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Names in .assemble: absolute, relative to the writer, or of an old file.
. "${0%/*}/../lib.sh"

base=$(use stories260K)
donor=$MODELS/stories260K-donor.gguf
"$GGUF" organ "$donor" blk.1.ffn_up.weight "$TMP/organ.bin"
"$GGUF" splice "$base" "$donor" blk.1.ffn_up.weight "$TMP/expected"
mkdir "$TMP/here" "$TMP/with blanks"
mount_model "$base"

# A model without a graft can be assembled.
echo "$TMP/plain.gguf" >"$MNT/.assemble"
same "$TMP/plain.gguf" "$base"

cp "$TMP/organ.bin" "$MNT/organs/blk_1_ffn_up.bin"
echo "$TMP/absolute.gguf" >"$MNT/.assemble"
same "$TMP/absolute.gguf" "$TMP/expected"
assembly_says 'absolute\.gguf'

(cd "$TMP/here" && echo relative.gguf >"$MNT/.assemble")
same "$TMP/here/relative.gguf" "$TMP/expected"
(cd "$TMP/here" && printf '../up.gguf' >"$MNT/.assemble") # without a final newline
same "$TMP/up.gguf" "$TMP/expected"
echo "$TMP/with blanks/a name.gguf" >"$MNT/.assemble"
same "$TMP/with blanks/a name.gguf" "$TMP/expected"
printf '%s\n' "$TMP/by-tee.gguf" | tee "$MNT/.assemble" >/dev/null
same "$TMP/by-tee.gguf" "$TMP/expected"

echo old >"$TMP/old.gguf"
echo "!$TMP/old.gguf" >"$MNT/.assemble"
same "$TMP/old.gguf" "$TMP/expected"
(cd "$TMP/here" && echo '!' >"$MNT/.assemble")
same "${base%.gguf}.grafted.gguf" "$TMP/expected"

no_litter "$TMP/here" relative.gguf
no_litter "$TMP/with blanks" 'a name.gguf'
equal "$(stat -c %a "$TMP/absolute.gguf")" 644 'mode'
equal "$(find "$TMP" -maxdepth 1 -name '.*')" '' 'hidden files'
unmount_and_wait

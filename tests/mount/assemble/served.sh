#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# With a layer of its own the mount serves model.gguf from the assembled file until the model or
# the file changes; the bytes stay the same. If the kernel reads the file itself (passthrough/), an
# open reader sees later changes of the file.
. "${0%/*}/../lib.sh"

base=$(use stories260K)
"$GGUF" organ "$MODELS/stories260K-donor.gguf" blk.1.ffn_up.weight "$TMP/organ.bin"
"$GGUF" splice "$base" "$MODELS/stories260K-donor.gguf" blk.1.ffn_up.weight "$TMP/expected"
extent() {
	getfattr --only-values -n user.organfs.extent "$MNT/model.gguf" 2>/dev/null
}
size=$(stat -c %s "$base")

mount_model -o "layer=$TMP/layer,passthrough=no" "$base"
equal "$(extent)" "$base:0:$size" 'without a graft it is the base'
equal "$(getfattr -d "$MNT/model.gguf" 2>/dev/null)" '' 'attributes that are listed'
cp "$TMP/organ.bin" "$MNT/organs/blk_1_ffn_up.bin"
equal "$(extent)" '' 'with a graft it lies in several pieces'

exec 3<"$MNT/model.gguf"
for i in 1 2; do
	echo "!$TMP/out.gguf" >"$MNT/.assemble"
	equal "$(extent)" "$TMP/out.gguf:0:$size"
	same "$MNT/model.gguf" "$TMP/expected"
done
(cd "$TMP" && echo relative.gguf >"$MNT/.assemble")
equal "$(extent)" "$TMP/relative.gguf:0:$size"
cmp - "$TMP/expected" <&3 || fail 'the file opened before reads something else'

# The file changes under open readers, and under its name.
exec 3<"$MNT/model.gguf"
truncate -s 1000 "$TMP/relative.gguf"
cmp - "$TMP/expected" <&3 || fail 'the open file reads something else'
exec 3<&-
equal "$(extent)" '' 'the file was cut'
same "$MNT/model.gguf" "$TMP/expected"
for change in 'rm' 'printf x >>' 'cp /etc/hostname'; do
	echo "!$TMP/out.gguf" >"$MNT/.assemble"
	equal "$(extent)" "$TMP/out.gguf:0:$size"
	eval "$change" '"$TMP/out.gguf"'
	equal "$(extent)" '' "$change"
	same "$MNT/model.gguf" "$TMP/expected"
done

# Another graft makes another model.
echo "!$TMP/out.gguf" >"$MNT/.assemble"
"$GGUF" organ "$base" blk.0.ffn_up.weight "$TMP/other.bin"
cp "$TMP/other.bin" "$MNT/organs/blk_1_ffn_up.bin"
equal "$(extent)" '' 'another graft'
differ "$MNT/model.gguf" "$TMP/expected"
unmount_and_wait

# Without a layer of its own the mount serves the model from its parts.
mount_model "$base"
cp "$TMP/organ.bin" "$MNT/organs/blk_1_ffn_up.bin"
echo "$TMP/out.gguf" >"$MNT/.assemble"
equal "$(extent)" ''
same "$MNT/model.gguf" "$TMP/expected"
unmount_and_wait

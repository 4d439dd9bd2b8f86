#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# layer=DIR: made if it is not there, found again, kept at unmount, packed and unpacked elsewhere;
# refused in one sentence where it does not suit, and then as it was.
. "${0%/*}/../lib.sh"

base=$(use stories260K)
donor=$MODELS/stories260K-donor.gguf
"$GGUF" organ "$donor" blk.0.ffn_up.weight "$TMP/up.bin"
"$GGUF" splice "$base" "$donor" blk.0.ffn_up.weight "$TMP/expected"

# Relative to the working directory, with its parents; the unmount writes no model.
"$ORGANFS" -o layer=some/where/layer "$base" "$MNT"
cp "$TMP/up.bin" "$MNT/organs/blk_0_ffn_up.bin"
rm "$MNT/norm/blk_1_attn_norm.bin"
mkdir elsewhere
unmount_and_wait
layer=$TMP/some/where/layer
exists "$layer/LAYER"
grep -q '^base stories260K.gguf$' "$layer/LAYER" || fail "LAYER: $(cat "$layer/LAYER")"
absent "$layer/LAYER.new"
absent "$layer/.stage"
exists "$layer/norm/.wh.blk_1_attn_norm.bin"
equal "$(ls "$TMP"/*.gguf)" "$base" models
no_litter "$XDG_STATE_HOME"

# With output= it is assembled, and the layer stays too.
mount_model -o "layer=$layer" "$base"
equal "$(wc -l <"$MNT/.grafts")" 2 'lines in .grafts'
same "$MNT/organs/blk_0_ffn_up.bin" "$TMP/up.bin"
absent "$MNT/norm/blk_1_attn_norm.bin"
cp "$MNT/.base/norm/blk_1_attn_norm.bin" "$MNT/norm/"
unmount_and_wait
mount_model -o "layer=$layer,output=$TMP/out.gguf" "$base"
unmount_and_wait
same "$TMP/out.gguf" "$TMP/expected"
exists "$layer/LAYER"

# It is used by one mount at a time, but for those that only read.
mount_model -o "layer=$layer" "$base"
status=0
"$ORGANFS" -o "layer=$layer" "$base" "$TMP/other" >"$TMP/said" 2>&1 || status=$?
equal "$status $(cat "$TMP/said")" "1 organfs: $layer: another mount uses this layer"
absent "$TMP/other"
unmount_and_wait
find "$layer" -printf '%p %s %T@ %i\n' | sort >"$TMP/before"
mount_model -o "layer=$layer,ro" "$base"
mount_model -o "layer=$layer,ro" "$base" "$TMP/second"
for mnt in "$MNT" "$TMP/second"; do
	same "$mnt/model.gguf" "$TMP/expected"
	same "$mnt/organs/blk_0_ffn_up.bin" "$TMP/up.bin"
	expect_fail 'read-only' cp "$TMP/up.bin" "$mnt/organs/blk_1_ffn_up.bin"
	expect_fail 'read-only' rm "$mnt/organs/blk_0_ffn_up.bin"
done
unmount_and_wait
unmount_and_wait "$TMP/second"
find "$layer" -printf '%p %s %T@ %i\n' | sort | cmp - "$TMP/before" || fail 'ro writes to the layer'
mount_model -o "layer=$TMP/none/at/all,ro" "$base"
same "$MNT/model.gguf" "$base"
unmount_and_wait
absent "$TMP/none"

# Packed with plain tar, unpacked elsewhere, with the base at another path.
tar -C "$TMP/some/where" -cf "$TMP/layer.tar" layer
mkdir "$TMP/there"
tar -C "$TMP/there" -xf "$TMP/layer.tar"
cp "$base" "$TMP/there/of another name.gguf"
mount_model -o "layer=$TMP/there/layer" "$TMP/there/of another name.gguf"
same "$MNT/model.gguf" "$TMP/expected"
unmount_and_wait

# Not this base's, not a layer, not a version that is known: refused, and left as it is.
refused() {
	local status=0
	find "$1" -printf '%p %s %T@\n' | sort >"$TMP/before"
	"$ORGANFS" -o "layer=$1" "$2" "$TMP/other" >"$TMP/said" 2>&1 </dev/null || status=$?
	equal "$status" 1 "exit status: $(cat "$TMP/said")"
	equal "$(wc -l <"$TMP/said")" 1 "lines of $(cat "$TMP/said")"
	grep -Eq -- "^organfs: $1: .*$3" "$TMP/said" || fail "says: $(cat "$TMP/said")"
	absent "$TMP/other"
	find "$1" -printf '%p %s %T@\n' | sort | cmp - "$TMP/before" || fail "$1 was changed"
}
print=$(sed -n 's/^fingerprint //p' "$layer/LAYER")
refused "$layer" "$donor" "made for another base, stories260K.gguf, with the fingerprint $print"
refused "$TMP/some" "$base" 'no file LAYER'
mkdir "$TMP/new"
echo mine >"$TMP/new/file"
refused "$TMP/new" "$base" 'no file LAYER'
refused "$TMP/up.bin" "$base" 'Not a directory'
cp -r "$layer" "$TMP/later"
sed -i '1s/1/2/' "$TMP/later/LAYER"
refused "$TMP/later" "$base" 'version 2, .*only 1'
echo junk >"$TMP/later/LAYER"
refused "$TMP/later" "$base" 'none that organfs wrote'

# An empty directory becomes a layer.
mkdir "$TMP/empty"
mount_model -o "layer=$TMP/empty" "$base"
unmount_and_wait
equal "$(ls -A "$TMP/empty")" LAYER

# An organ file that a user drops into a layer is a graft.
mkdir "$TMP/empty/organs"
cp "$TMP/up.bin" "$TMP/empty/organs/blk_0_ffn_up.bin"
mount_model -o "layer=$TMP/empty" "$base"
same "$MNT/model.gguf" "$TMP/expected"
unmount_and_wait

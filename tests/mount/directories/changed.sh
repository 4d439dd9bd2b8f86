#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Organ files in a model directory are replaced, added, damaged, missing, and come back; grafts on
# such a model; the directory without a header, or with another GGUF's.
. "${0%/*}/../lib.sh"

dir=$TMP/d
mount_model -o ro "$MODELS/stories260K.gguf"
mkdir "$dir"
cp -r "$MNT"/{header.gguf,embed,norm,organs,skeleton} "$dir"
unmount_and_wait
mount_model -o ro "$MODELS/stories260K-q8_0.gguf"
cp "$MNT/organs/blk_2_ffn_up.bin" "$TMP/q8.bin"
unmount_and_wait
type_of() {
	getfattr --only-values -n user.organfs.type "$1"
}

# A file replaced by hand is part of the model, even with another type.
cp "$dir/organs/blk_2_ffn_up.bin" "$TMP/f32.bin"
cp "$TMP/q8.bin" "$dir/organs/blk_2_ffn_up.bin"
cp "$dir/organs/blk_1_ffn_up.bin" "$dir/organs/blk_0_ffn_up.bin"
mount_model -o ro "$dir"
equal "$(type_of "$MNT/organs/blk_2_ffn_up.bin")" Q8_0
same "$MNT/organs/blk_2_ffn_up.bin" "$TMP/q8.bin"
equal "$("$GGUF" organs "$MNT/model.gguf" | awk '$1 == "blk.2.ffn_up.weight" { print $2 }')" Q8_0
equal "$("$GGUF" organs "$MNT/model.gguf" | wc -l)" 48
cmp <(tail -c +48 "$MNT/organs/blk_0_ffn_up.bin") <(tail -c +48 "$dir/organs/blk_1_ffn_up.bin") ||
	fail 'the name of a file does not choose the tensor'
equal "$(getfattr --only-values -n user.organfs.extent "$MNT/organs/blk_1_ffn_up.bin")" \
	"$dir/organs/blk_1_ffn_up.bin:47:44032"
unmount_and_wait
cp "$TMP/f32.bin" "$dir/organs/blk_2_ffn_up.bin"

# The directory has a tensor beyond the header, and other files.
cp "$dir/organs/blk_1_ffn_up.bin" "$dir/organs/blk_9_ffn_up.bin"
cp "$dir/organs/blk_1_ffn_up.bin" "$dir/organs/foo.bin"
echo junk >"$dir/organs/junk.bin"
mount_model -o ro "$dir"
exists "$MNT/organs/blk_9_ffn_up.bin"
absent "$MNT/organs/foo.bin"
grep -q 'organs/foo.bin: passed over: .*another file name' "$MNT/.log" ||
	fail 'foo.bin is not named'
grep -q 'organs/junk.bin: passed over: at byte 0: not an organ' "$MNT/.log" ||
	fail 'junk.bin is not named'
equal "$("$GGUF" organs "$MNT/model.gguf" | tail -n 1 | cut -f 1)" blk.9.ffn_up.weight
unmount_and_wait
rm "$dir/organs"/{blk_9_ffn_up,foo,junk}.bin

# A damaged organ is named, and the others are readable; the organ comes back during the mount.
truncate -s -5 "$dir/organs/blk_3_ffn_up.bin"
rm "$dir/norm/blk_1_attn_norm.bin"
mount_model "$dir"
grep -q 'the model lacks norm/blk_1_attn_norm.bin, organs/blk_3_ffn_up.bin (at byte 44074' \
	"$MNT/.log" || grep -q 'organs/blk_3_ffn_up.bin (at byte 44074: .*norm/blk_1' "$MNT/.log" ||
	fail "$(cat "$MNT/.log")"
absent "$MNT/organs/blk_3_ffn_up.bin"
[ -n "$(cat "$MNT/organs/blk_4_ffn_up.theta")" ] || fail 'nothing can be measured'
! cp "$TMP/q8.bin" "$MNT/organs/blk_2_ffn_up.bin" 2>/dev/null || fail 'a graft on part of a model'
cp "$TMP/f32.bin" "$dir/organs/blk_3_ffn_up.bin"
cp "$dir/norm/blk_2_attn_norm.bin" "$dir/norm/blk_1_attn_norm.bin"
is_whole() {
	ls "$MNT" >/dev/null
	[ -s "$MNT/model.gguf" ] 2>/dev/null
}
until_true 60 is_whole || fail 'files that came are not seen'
exists "$MNT/organs/blk_3_ffn_up.bin"

# Grafts work as on any base, are taken up by the next mount, and are written beside the directory.
cp "$TMP/q8.bin" "$MNT/organs/blk_2_ffn_up.bin"
equal "$(cut -f 1 "$MNT/.grafts")" organs/blk_2_ffn_up.bin
kill_daemon
mount_model "$dir"
same "$MNT/organs/blk_2_ffn_up.bin" "$TMP/q8.bin"
want=$(checksum "$MNT/model.gguf")
unmount_and_wait
equal "$(checksum "$TMP/d.grafted.gguf")" "$want"
# An organ changes under a mount, which returns none of its bytes any more.
mount_model -o ro "$dir"
cat "$MNT/organs/blk_1_ffn_up.bin" >/dev/null
cp "$TMP/f32.bin" "$dir/organs/blk_1_ffn_up.bin"
! cat "$MNT/skeleton/../organs/blk_1_ffn_up.bin" >/dev/null 2>&1 ||
	echo 'the kernel has the pages of what was read'
! tail -c 100 "$MNT/.views/npy/organs/blk_1_ffn_up.npy" >/dev/null 2>&1 ||
	fail 'bytes of a file that was changed'
unmount_and_wait

# Without a header the directory can be listed and measured; another GGUF can lend a header.
mv "$dir/header.gguf" "$TMP/header.gguf"
mount_model "$dir"
equal "$(cat "$MNT"/*/*.bin | wc -c)" "$(cat "$dir"/*/*.bin | wc -c)"
equal "$(ls "$MNT"/*/*.theta | wc -l)" 48
grep -q 'the model lacks header.gguf' "$MNT/.log" || fail 'the header is not missed'
! cat "$MNT/model.gguf" >/dev/null 2>&1 || fail 'a model without metadata'
unmount_and_wait
for header in "$MODELS/stories260K.gguf" "$TMP/header.gguf"; do
	mount_model -o "ro,header=$header" "$dir"
	equal "$(cat "$MNT/metadata/general.architecture")" llama
	equal "$("$GGUF" organs "$MNT/model.gguf" | cut -f 1 | tr '\n' ' ')" \
		"$("$GGUF" organs "$MODELS/stories260K.gguf" | cut -f 1 | tr '\n' ' ')"
	unmount_and_wait
done
! "$ORGANFS" -o ro,header=/dev/null "$dir" "$MNT" 2>"$TMP/said" || fail 'no header is one'
grep -q /dev/null "$TMP/said" || fail "$(cat "$TMP/said")"

#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# release: tests the magic file of file(1)
# plain: commands are scripts
# file(1) with organfs.magic recognises organ files of every type, with tensor, type and shape, and
# no other files.
. "${0%/*}/../lib.sh"

need file getfattr
magic=$here/../../mount-helpers/organfs.magic

[ -z "$(file -C -m "$magic" 2>&1 >"$TMP/checked")" ] || fail "$(file -C -m "$magic" 2>&1)"
rm -f organfs.magic.mgc

xattr() {
	getfattr --absolute-names --only-values -n "user.organfs.$1" "$2"
}
# organfs itself describes each organ.
for model in types types-stress stories260K; do
	mount_model -o ro "$MODELS/$model.gguf"
	for organ in "$MNT"/*/*.bin; do
		expected="organ file of tensor $(xattr tensor "$organ"), $(xattr type "$organ"),"
		expected="$expected $(xattr shape "$organ")"
		equal "$(file -b -m "$magic" "$organ")" "$expected" "$organ"
	done
	# Our rules come before the system's, some of which take organs for tapes of a home
	# computer.
	cp "$organ" organ.bin
	for known in "$magic:/usr/share/misc/magic" "$magic"; do
		equal "$(file -b -m "$known" organ.bin)" "$expected"
	done
	equal "$(file -b --mime-type -m "$magic" organ.bin)" application/x-organfs-organ
	unmount_and_wait
done
# Every type, current or retired.
checked=0
while read -r id name _ size; do
	[ "$id" != id ] || continue
	name=${name^^}
	[ "$size" != 0 ] || name=type-$id
	printf '\x03\0\0\0a.b\x01\0\0\0\0\x01\0\0\0\0\0\0%b\0\0\0rest' \
		"\\x$(printf %x "$id")" >type.bin
	equal "$(file -b -m "$magic" type.bin)" "organ file of tensor a.b, $name, 256"
	checked=$((checked + 1))
done < <(sed 's/TYPE_.*\t0\t0$/x 0 0/' "$here/../unit/types.tsv")
[ $checked -gt 40 ] || fail "$checked types"
ln -s "$magic" .magic
equal "$(HOME=$TMP file -b organ.bin)" "$expected"

# Other files: models, files of a mount and of a layer, programs, truncated organs.
mount_model -o noassemble "$(use stories260K)"
cp "$MODELS/clerk-Q4_K_M.gguf" "$TMP/x.gguf"
# An organ over 64 KiB is in a compressed file.
"$GGUF" organ "$MODELS/stories260K-donor.gguf" token_embd.weight embd.bin
printf x | dd of=embd.bin bs=1 seek=100000 conv=notrunc status=none
cp embd.bin "$MNT/embed/token_embd.bin"
head -c 40 organ.bin >short.bin
cut -c 2- <organ.bin >shifted.bin
gzip -k organ.bin
head -c 65536 /dev/zero >zeros
printf '\x05\0\0\0hello\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0' >padded
{
	find "$MNT" "$MNT/.views/npy" "$XDG_STATE_HOME" -type f ! -name '*.bin'
	find "$MODELS" "$here/../malformed" "$here/.." "$ORGANFS" /bin/ls /etc -maxdepth 1 -type f
	printf '%s\n' short.bin shifted.bin organ.bin.gz zeros padded
} >others
file -N -m "$magic" -f others >said
grep -a 'organ file' said && fail 'they are none'
[ "$(wc -l <said)" -gt 150 ] || fail "$(wc -l <said) files"
find "$XDG_STATE_HOME" -path '*/blobs/*' -type f | grep -q . || fail 'no blob is a file'
unmount_and_wait

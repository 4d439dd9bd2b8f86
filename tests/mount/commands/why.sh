#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# For a refusal cp says only "Invalid argument". user.organfs.error of the slot and its directory
# has the message, and --why prints all messages on a path.
. "${0%/*}/../lib.sh"

mount_model -o noassemble "$(use scribe-Q4_K_M)"
slot=organs/blk_2_ffn_up.bin

# error_is FILE PATTERN: check the attribute; NONE: it does not exist.
error_is() {
	if [ "$2" = NONE ]; then
		expect_fail 'No such attribute' getfattr -n user.organfs.error "$MNT/$1"
	else
		getfattr --only-values -n user.organfs.error "$MNT/$1" 2>/dev/null |
			grep -Eq -- "$2" || fail "$1: its error is not $2"
	fi
}
for file in $slot organs metadata .undo blocks/order; do
	error_is $file NONE
done
expect_fail 'no message' "$ORGANFS" --why "$MNT/$slot"

expect_fail 'invalid argument' cp /etc/hostname "$MNT/$slot"
expect_fail 'invalid argument' cp /etc/hostname "$MNT/organs/blk_99_ffn_up.bin"
expect_fail 'invalid argument' setfattr -n user.organfs.type -v q9 "$MNT/organs/blk_1_ffn_up.bin"
error_is $slot "^$slot: graft refused: .*keeps its content"
error_is blocks/2/ffn_up.bin "^$slot: graft refused"
error_is organs '^organs/blk_1_ffn_up.bin: type refused: "q9"'
error_is organs/blk_1_ffn_up.bin '"q9"'
error_is organs/blk_3_ffn_up.bin NONE
error_is embed NONE
! getfattr -d "$MNT/$slot" 2>/dev/null | grep -q organfs.error || fail 'the attribute is listed'

for words in '.undo nonsense' 'blocks/order 99' 'metadata/llama.block_count abc' '.types x'; do
	sh -c 'echo "$1" >"$2"' - "${words#* }" "$MNT/${words% *}" 2>/dev/null && fail "$words"
	error_is "${words% *}" "^${words% *}: .*refused"
	error_is . "^${words% *}: .*refused"
done

# Paths: a missing name, a directory, the mount point, a path through a link, another name.
why() {
	"$ORGANFS" --why "$1" | cut -d ' ' -f 3
}
equal "$(why "$MNT/organs/blk_99_ffn_up.bin")" organs/blk_99_ffn_up.bin:
equal "$(why "$MNT/organs" | wc -l)" 3
equal "$(why "$MNT" | wc -l)" 7
ln -s "$MNT/organs" "$TMP/link"
equal "$(why "$TMP/link/blk_2_ffn_up.bin")" $slot:
"$ORGANFS" --why "$MNT/blocks/2/ffn_up.bin" | grep -q " $slot: graft refused" ||
	fail 'the other name of the slot is not known'

# Each refusal has its reason under the path that the program printed.
refused() {
	local file=$MNT/$1
	shift
	"$@" >/dev/null 2>&1 && fail "not refused: $*"
	"$ORGANFS" --why "$file" 2>&1 | grep -q refused || fail "$*: no reason for $file"
}
refused x ln "$MNT/organs/blk_3_ffn_up.bin" "$MNT/x"
refused .notes cp /etc/hostname "$MNT/.notes"
! grep -q 'importance matrix' "$MNT/.log" || fail 'the advice is for .imatrix'
refused metadata/k ln "$MNT/metadata/general.name" "$MNT/metadata/k"
refused metadata/k2 ln -s /etc/hostname "$MNT/metadata/k2"
refused organs/fifo mkfifo "$MNT/organs/fifo"
refused organs/blk_3_ffn_up.theta mv "$MNT/organs/blk_3_ffn_up.theta" "$MNT/organs/y.theta"
refused blocks/1 mv "$MNT/blocks/1" "$MNT/blocks/9"
refused blocks/order rm "$MNT/blocks/order"
refused blocks/9 ln -s "$TMP" "$MNT/blocks/9"
refused .diff/x.gguf cp /etc/hostname "$MNT/.diff/x.gguf"
refused .base/organs/blk_3_ffn_up.bin rm -f "$MNT/.base/organs/blk_3_ffn_up.bin"
refused .views/types/q8_0/organs/x mkdir "$MNT/.views/types/q8_0/organs/x"
refused .views/npy/organs/blk_3_ffn_up.npy \
	cp /etc/hostname "$MNT/.views/npy/organs/blk_3_ffn_up.npy"
refused .views/npy/organs/x.npy cp /etc/hostname "$MNT/.views/npy/organs/x.npy"
! grep 'x.npy: .*cannot be changed' "$MNT/.log" || fail 'NumPy files are said to be read-only'
refused blocks/2/foo.bin cp "$MNT/organs/blk_3_ffn_up.bin" "$MNT/blocks/2/foo.bin"
ln -sf /nowhere/x.bin "$MNT/organs/blk_5_ffn_up.bin"
expect_fail 'No such file' cat "$MNT/blocks/5/ffn_up.bin"
"$ORGANFS" --why "$MNT/blocks/5/ffn_up.bin" | grep -q 'blk_5_ffn_up.bin: a link to /nowhere' ||
	fail 'no reason for a broken link of a block'
refused metadata/general.name \
	setfattr -n user.organfs.type -v thing "$MNT/metadata/general.name"
expect_fail 'invalid argument' \
	setfattr -n user.organfs.type -v thing "$MNT/.base/metadata/general.name"
! grep ' : ' "$MNT/.log" || fail 'a message names no file'
! echo /nowhere/x.gguf 2>/dev/null >"$MNT/.assemble" || fail 'a missing directory is written to'
"$ORGANFS" --why "$MNT/.assemble" | grep -q '\.assemble: failed: /nowhere/x.gguf: ' ||
	fail 'no reason of an assembly'

# A write that fails is the newest message, also if the process had emptied the file.
expect_fail 'file too large' python3 -c '
import os, sys
fd = os.open(sys.argv[1], os.O_WRONLY | os.O_TRUNC)
try:
    os.pwrite(fd, b"x", 1 << 45)
finally:
    os.close(fd)' "$MNT/organs/blk_4_ffn_up.bin"
error_is organs/blk_4_ffn_up.bin 'cannot be staged in .*: File too large'

expect_fail 'not in a mount' "$ORGANFS" --why /etc/hostname
expect_fail 'No such file' "$ORGANFS" --why "$TMP/nowhere/file"
expect_fail 'needs one PATH' "$ORGANFS" --why
unmount

# The directory of one of several models may be called blocks.
mkdir "$TMP/models"
cp "$(use stories260K)" "$TMP/models/blocks.gguf"
cp "$(use scribe-Q4_K_M)" "$TMP/models/my-blocks.gguf"
mount_model -o noassemble "$TMP/models"
for model in blocks my-blocks; do
	refused $model/blocks/2/foo.bin cp /etc/hostname "$MNT/$model/blocks/2/foo.bin"
done
unmount

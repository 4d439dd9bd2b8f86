#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# cp says no more of a refusal than "Invalid argument": user.organfs.error of the slot, and of its
# directory, has the message, and --why prints all messages on a path.
. "${0%/*}/../lib.sh"

mount_model -o noassemble "$(use scribe-Q4_K_M)"
slot=organs/blk_2_ffn_up.bin

# error_is FILE PATTERN: the attribute; NONE: there is none.
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
error_is organs '^organs/blk_1_ffn_up.bin: user.organfs.type: "q9"'
error_is organs/blk_1_ffn_up.bin '"q9"'
error_is organs/blk_3_ffn_up.bin NONE
error_is embed NONE
! getfattr -d "$MNT/$slot" 2>/dev/null | grep -q organfs.error || fail 'the attribute is listed'

for words in '.undo nonsense' 'blocks/order 99' 'metadata/llama.block_count abc' '.types x'; do
	sh -c 'echo "$1" >"$2"' - "${words#* }" "$MNT/${words% *}" 2>/dev/null && fail "$words"
	error_is "${words% *}" "^${words% *}: .*refused"
	error_is . "^${words% *}: .*refused"
done

# A name that is not there, a directory, the mount point, a path through a link, another name.
why() {
	"$ORGANFS" --why "$1" | cut -d ' ' -f 3
}
equal "$(why "$MNT/organs/blk_99_ffn_up.bin")" organs/blk_99_ffn_up.bin:
equal "$(why "$MNT/organs" | wc -l)" 3
equal "$(why "$MNT" | wc -l)" 7
ln -s "$MNT/organs" "$TMP/link"
equal "$(why "$TMP/link/blk_2_ffn_up.bin")" $slot:
"$ORGANFS" --why "$MNT/blocks/2/ffn_up.bin" | grep -q "^$slot: graft refused" ||
	fail 'the other name of the slot is not known'
expect_fail 'not in a mount' "$ORGANFS" --why /etc/hostname
expect_fail 'No such file' "$ORGANFS" --why "$TMP/nowhere/file"
expect_fail 'needs one PATH' "$ORGANFS" --why
unmount

#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# timeout: 300
# The layer's disk fails: writes fail (EROFS, EIO, ENOSPC), reads fail with EIO or return other
# bytes. Edits are refused and change nothing, confirmed changes stay, operations without the disk
# go on; this mount and the next one recover with the disk.
. "${0%/*}/../lib.sh"

# The organs are files of the layer, not rows.
base=$(use scribe-Q4_K_M)
for block in 0 1 2 3 4; do
	"$GGUF" organ "$MODELS/clerk-Q4_K_M.gguf" blk.$block.ffn_up.weight \
		"$TMP/blk_${block}_ffn_up.bin"
	"$GGUF" organ "$base" blk.$block.ffn_up.weight "$TMP/old_$block.bin"
done
failing_disk "$TMP/back" "$TMP/disk"
layer=$TMP/disk/layer
# Without compression a byte on the disk is a byte of an organ.
options=noassemble,compress=off,layer=$layer
mount_model -o "$options" "$base"
slot() {
	echo "$MNT/organs/blk_$1_ffn_up.bin"
}
cp "$TMP/blk_0_ffn_up.bin" "$TMP/blk_1_ffn_up.bin" "$MNT/organs/"
echo other >"$MNT/metadata/general.name"
cp "$MNT/model.gguf" "$TMP/expected"
cut -f 1-6 "$MNT/.grafts" >"$TMP/grafts"
stands() {
	cmp "$TMP/expected" "$MNT/model.gguf" || fail "$1: another model"
	cut -f 1-6 "$MNT/.grafts" | diff "$TMP/grafts" - || fail "$1: other grafts"
	cat "$(slot 0)" | cmp - "$TMP/blk_0_ffn_up.bin" || fail "$1: another organ"
}

# The shell ignores errors of close().
echo 7 >"$TMP/7"
echo all >"$TMP/all"
# refuses_edits WORDS: edits of every kind fail.
refuses_edits() {
	expect_fail "$1" cp "$TMP/blk_2_ffn_up.bin" "$(slot 2)"
	expect_fail "$1" cp "$TMP/blk_2_ffn_up.bin" "$(slot 0)"
	expect_fail "$1" dd if=/dev/zero of="$(slot 3)" bs=1 count=1 seek=20000 conv=notrunc
	expect_fail "$1" rm "$(slot 4)"
	expect_fail "$1" mv "$(slot 1)" "$(slot 3)"
	expect_fail "$1" ln -s "$TMP/blk_2_ffn_up.bin" "$MNT/organs/blk_7_ffn_up.bin"
	expect_fail "$1" ln "$(slot 1)" "$MNT/organs/blk_8_ffn_up.bin"
	expect_fail "$1" rm "$MNT/metadata/general.architecture"
	expect_fail "$1" cp "$TMP/7" "$MNT/metadata/llama.context_length"
	expect_fail "$1" cp "$TMP/all" "$MNT/.undo"
}
before=$(descriptors)
for what in EROFS:read-only EIO:input/output ENOSPC:'no space left'; do
	fault "change ${what%%:*}"
	refuses_edits "${what#*:}"
	stands "$what"
	fault
	stands "$what, after it"
	cp "$TMP/blk_2_ffn_up.bin" "$(slot 2)"
	same "$(slot 2)" "$TMP/blk_2_ffn_up.bin"
	cp "$MNT/.base/organs/blk_2_ffn_up.bin" "$(slot 2)"
	stands "$what, after another graft"
done
no_leak "$before"
kill_daemon
mount_model -o "$options" "$base"
stands 'the next mount'

# Failing reads break exactly those organs, as long as they fail.
fault 'read EIO'
expect_fail 'input/output' cat "$(slot 1)"
same "$(slot 3)" "$TMP/old_3.bin"
expect_fail 'input/output' bash -c "echo '$TMP/out.gguf' >'$MNT/.assemble'"
absent "$TMP/out.gguf"
grep -q 'blk_1_ffn_up.bin: cannot be read: Input/output error' "$MNT/.log" ||
	fail "$(cat "$MNT/.log")"
fault
same "$(slot 1)" "$TMP/blk_1_ffn_up.bin"
stands 'after reads that failed'
unmount_and_wait

# Wrong bytes are never shown, and are reported.
mount_model -o "$options" "$base"
fault 'read flip'
if cat "$(slot 1)" >"$TMP/is" 2>"$TMP/said"; then
	same "$TMP/is" "$TMP/blk_1_ffn_up.bin"
else
	grep -q 'blk_1_ffn_up.bin' "$MNT/.log" || fail "$(cat "$MNT/.log")"
fi
same "$(slot 3)" "$TMP/old_3.bin"
fault
unmount_and_wait
mount_model -o "$options" "$base"
stands 'after other bytes'
unmount_and_wait

# The disk is full after that many requests that take space.
for after in ${FULL:-0 1 2 3 5 8 13 21}; do
	rm -rf "${TMP:?}/back/layer"
	mount_model -o "$options" "$base"
	fault "grow ENOSPC $after"
	done=
	for block in 0 1 2 3 4; do
		if cp "$TMP/blk_${block}_ffn_up.bin" "$(slot $block)" 2>"$TMP/said"; then
			done="$done $block"
			same "$(slot $block)" "$TMP/blk_${block}_ffn_up.bin"
		else
			grep -q 'No space left' "$TMP/said" || fail "$(cat "$TMP/said")"
			same "$(slot $block)" "$TMP/old_$block.bin"
		fi
	done
	kill_daemon
	fault
	mount_model -o "$options" "$base"
	for block in 0 1 2 3 4; do
		case " $done " in
		*" $block "*) same "$(slot $block)" "$TMP/blk_${block}_ffn_up.bin" ;;
		*) same "$(slot $block)" "$TMP/old_$block.bin" ;;
		esac
	done
	unmount_and_wait
done
end_disk "$TMP/disk"

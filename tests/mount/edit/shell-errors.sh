#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# A shell's echo checks write(2) and not close(2): a line that cannot be obeyed, or is no value of
# the key, fails in write(), once, and changes nothing.
. "${0%/*}/../lib.sh"

base=$(use scribe-Q4_K_M)
"$LORA" make "$base" "$TMP/style.gguf" 'blk.[01].attn_q.weight'
mount_model -o noassemble "$base"
ln -s "$TMP/style.gguf" "$MNT/adapters/style.gguf"
blocks=$(cat "$MNT/metadata/llama.block_count")
rm "$MNT/organs/blk_1_ffn_up.bin"
cp "$MNT/.grafts" "$TMP/grafts"

# refused FILE LINE PATTERN: dash and bash both fail, with one line in the log.
refused() {
	local shell before
	for shell in bash dash; do
		command -v $shell >/dev/null || continue
		before=$(wc -l <"$MNT/.log")
		expect_fail 'invalid argument|I/O error' \
			$shell -c 'echo "$1" >"$2"' - "$2" "$MNT/$1"
		log_says "$3"
		equal "$(wc -l <"$MNT/.log")" $((before + 1))
	done
	same "$MNT/.grafts" "$TMP/grafts"
}
refused metadata/llama.block_count abc 'refused: not of type uint32'
refused metadata/llama.rope.freq_base 1.x 'refused: not of type float32'
equal "$(cat "$MNT/metadata/llama.block_count")" "$blocks"
refused .undo nonsense '\.undo: refused: "nonsense"'
refused .undo $'organs\nnonsense' '\.undo: refused: "nonsense"'
refused adapters/style.scale nothing 'adapters/style.scale: refused'

# close(2) judges a line in two parts, and lines before a wrong one.
expect_fail 'invalid argument' python3 -c '
import os, sys
fd = os.open(sys.argv[1], os.O_WRONLY)
os.write(fd, b"organs/blk_1_ffn_")
os.write(fd, b"wrong.bin\n")
os.close(fd)' "$MNT/.undo"
{ echo organs && ! echo nonsense; } >"$MNT/.undo" 2>/dev/null || fail 'the second line is obeyed'
same "$MNT/.grafts" "$TMP/grafts"

# close(2) judges a number of another type, because cp -a brings the type along before that.
printf -- '-1\n' >"$TMP/minus"
expect_fail 'invalid argument' cp "$TMP/minus" "$MNT/metadata/llama.block_count"
echo '[1, 2]' >"$MNT/metadata/general.list"
setfattr -n user.organfs.type -v 'array of int32' "$MNT/metadata/general.list"
cp -a "$MNT/metadata/general.list" "$MNT/metadata/llama.block_count"
equal "$(cat "$MNT/metadata/llama.block_count")" '[1, 2]'
echo metadata >"$MNT/.undo"
same "$MNT/.grafts" "$TMP/grafts"

# Valid values and words follow, with lines of .undo itself between.
echo 7 >"$MNT/metadata/llama.block_count"
equal "$(cat "$MNT/metadata/llama.block_count")" 7
echo 0.25 >"$MNT/adapters/style.scale"
equal "$(cat "$MNT/adapters/style.scale")" 0.25
cat "$MNT/.undo" >"$TMP/said"
{ cat "$TMP/said"; echo all; } >"$MNT/.undo"
equal "$(cat "$MNT/.grafts")" ''

# cp onto model.gguf, as in a copy of a whole tree, keeps nothing, with a line in the log.
cp "$MODELS/stories260K.gguf" "$MNT/model.gguf"
log_says 'model.gguf: writes to this file are discarded'
same "$MNT/model.gguf" "$base"
unmount_and_wait

#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# A refusal in the root, a dangling link, and a NumPy file in a slot each have a line in .log with
# the remedy.
. "${0%/*}/../lib.sh"

base=$(use stories260K)
mount_model -o noassemble "$base"

# refused PATTERN COMMAND...: the command fails, with that line.
refused() {
	local pattern=$1 before
	shift
	before=$(wc -l <"$MNT/.log")
	expect_fail 'not permitted' "$@"
	equal "$(wc -l <"$MNT/.log")" $((before + 1)) "lines of .log about: $*"
	log_says "$pattern"
}

echo text >"$TMP/x"
refused ' x: refused: no directory' mkdir "$MNT/x"
refused ' organs/x: refused: no directory' mkdir "$MNT/organs/x"
refused ' x: refused: no file .*organs into the' touch "$MNT/x"
refused ' \.x\.abcdef: refused: no file' touch "$MNT/.x.abcdef"
refused ' lora.gguf: refused: .*ln -s /PATH/TO/FILE adapters/' cp "$base" "$MNT/lora.gguf"
refused ' blk_0_ffn_up.bin: refused: .* organ into .* its class' \
	cp "$MNT/organs/blk_0_ffn_up.bin" "$MNT/"
refused ' x.gguf: refused: no link .*ln -s /PATH/TO/FILE adapters/' ln -s "$base" "$MNT/x.gguf"
refused ' model.gguf: refused: it cannot be removed' rm -f "$MNT/model.gguf"
refused ' organs: refused: it cannot be renamed' mv -T "$MNT/organs" "$MNT/norgans"
refused ' organs/blk_9_ffn_up.bin: refused: .*linked; .* cp' \
	ln "$MNT/.base/organs/blk_0_ffn_up.bin" "$MNT/organs/blk_9_ffn_up.bin"
refused ' x: refused: no file' mv "$MNT/organs/blk_0_ffn_up.bin" "$MNT/x"
refused ' metadata: refused: it cannot be removed' rmdir "$MNT/metadata"

before=$(cat "$MNT/.log")
expect_fail 'not permitted' mkdir "$MNT/.Trash-1000"
equal "$(cat "$MNT/.log")" "$before" "log after a desktop's files"

# A relative link starts at its directory, not at ln's.
cd "$TMP"
cp "$MNT/organs/blk_1_ffn_up.bin" up.bin
ln -sf up.bin "$MNT/organs/blk_0_ffn_up.bin"
log_says 'organs/blk_0_ffn_up.bin: .*No such file.*ln -sr'
ln -srf up.bin "$MNT/organs/blk_0_ffn_up.bin"
same "$MNT/organs/blk_0_ffn_up.bin" up.bin
ln -sf /nowhere/x.bin "$MNT/organs/blk_0_ffn_up.bin"
! tail -n 1 "$MNT/.log" | grep 'ln -sr' || fail 'said of a path that begins with a slash'
expect_fail 'Invalid' ln -s lora.gguf "$MNT/adapters/"
log_says 'adapters/lora.gguf: refused: .*ln -sr'
expect_fail 'no such file' ln -s ../../elsewhere/lora.gguf "$MNT/adapters/"
log_says 'adapters/lora.gguf: refused: .*No such file.*ln -sr.*; nothing is changed'
absent "$MNT/adapters/lora.gguf"

expect_fail 'Invalid argument' cp "$MNT/.views/npy/organs/blk_2_ffn_up.npy" \
	"$MNT/organs/blk_2_ffn_up.bin"
log_says 'organs/blk_2_ffn_up.bin: graft refused: .*NumPy.* .views/npy'

# With several models the root's log has the line too; a read-only mount says that it is read-only.
unmount_and_wait
mkdir "$TMP/several"
cp "$MODELS/stories260K.gguf" "$MODELS/stories260K-donor.gguf" "$TMP/several"
mount_model -o noassemble "$TMP/several"
refused ' x: refused: no file .*directories of models' touch "$MNT/x"
refused ' x: refused: no directory' mkdir "$MNT/x"
unmount_and_wait
mount_model -o ro "$base"
expect_fail 'Read-only' touch "$MNT/x"
expect_fail 'Read-only' mkdir "$MNT/x"
equal "$(cat "$MNT/.log")" '' 'log of a read-only mount'
unmount_and_wait

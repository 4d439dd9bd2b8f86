#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# plain: unit tests read the same files with sanitizers
# timeout: 400
# A layer that came from somewhere else, in which a FIFO, a socket, a directory or a link to a FIFO
# has the name of a file: the mount is there or says in one line why not, and nothing waits.
. "${0%/*}/../lib.sh"

base=$(use stories260K)
donor=$MODELS/stories260K-donor.gguf
"$GGUF" organ "$donor" blk.0.ffn_up.weight "$TMP/organ"
head -c "$(stat -c %s "$TMP/organ")" /dev/zero >"$TMP/zeros"
head -c 100 "$TMP/organ" | dd of="$TMP/zeros" conv=notrunc status=none

# A layer with a file of each kind.
mount_model -o "layer=$TMP/plain,compress=off" "$base"
cp "$TMP/organ" "$MNT/organs/blk_0_ffn_up.bin"
cp "$TMP/organ" "$MNT/organs/blk_5_ffn_up.bin"
ln -sf "$TMP/organ" "$MNT/organs/blk_1_ffn_up.bin"
rm "$MNT/organs/blk_2_ffn_up.bin" "$MNT/metadata/general.name"
echo odd >"$MNT/metadata/general.description"
echo 64 >"$MNT/metadata/llama.context_length"
cp "$MNT/organs/blk_4_ffn_up.bin" "$MNT/organs/blk_3_ffn_up.bin"
unmount_and_wait
mount_model -o "layer=$TMP/plain,compress=9" "$base"
cp "$TMP/zeros" "$MNT/organs/blk_4_ffn_up.bin"
unmount_and_wait
mkdir -p "$TMP/plain/adapters" "$TMP/plain/.stage"
touch "$TMP/plain/adapters/a.gguf" "$TMP/plain/adapters/a.gguf.scale" \
	"$TMP/plain/MOVING" "$TMP/plain/LAYER.new" "$TMP/plain/.stage/0" "$TMP/plain/.stage/0.zst"
for file in LAYER organs/blk_0_ffn_up.bin organs/blk_0_ffn_up.bin.xxh128 \
	organs/blk_4_ffn_up.bin.zst organs/blk_5_ffn_up.bin.from organs/blk_3_ffn_up.bin.ref \
	organs/.wh.blk_2_ffn_up.bin metadata/.wh.general.name \
	metadata/.typed.general.description metadata/llama.context_length; do
	exists "$TMP/plain/$file"
done
exists "$(readlink "$TMP/plain/organs/blk_1_ffn_up.bin")"

# odd KIND PATH: what is no regular file, in its place.
odd() {
	rm -rf "$2"
	case $1 in
	fifo) mkfifo "$2" ;;
	link) ln -s "$TMP/fifo" "$2" ;;
	directory) mkdir "$2" ;;
	socket) python3 -c 'import os, socket, sys
os.chdir(os.path.dirname(sys.argv[1]))
socket.socket(socket.AF_UNIX).bind(os.path.basename(sys.argv[1]))' "$2" ;;
	esac
}

# Everything in the mount is looked at, and changed, within a time that no load needs.
use_it() {
	in_time 60 bash -c '
		ls -lR "$1" >/dev/null
		cat "$1/.log" "$1/.grafts" >/dev/null
		for file in "$1"/organs/blk_?_ffn_up.bin "$1"/metadata/* "$1"/adapters/*; do
			[ -L "$file" ] || cat "$file" >/dev/null # the shell would wait
		done
		cp "$2" "$1/organs/blk_3_ffn_down.bin"
		cp --remove-destination "$2" "$1/organs/blk_0_ffn_up.bin"
		mv "$1/organs/blk_0_ffn_gate.bin" "$1/organs/blk_7_ffn_gate.bin"
		rm "$1/organs/blk_1_ffn_gate.bin"
		echo new >"$1/metadata/general.description"
		echo 2 >"$1/adapters/a.gguf.scale"
		exit 0' - "$MNT" "$TMP/organ" >"$TMP/used" 2>&1 </dev/null
}

mkfifo "$TMP/fifo"
mounts=0
refusals=0
kinds='fifo link directory socket'
while read -r file; do
	for kind in $(rounds "$kinds" "$(shuf -n 1 -e $kinds)"); do
		rm -rf "$TMP/layer"
		cp -a "$TMP/plain" "$TMP/layer"
		odd $kind "$TMP/layer/$file"
		status=0
		in_time 20 "$ORGANFS" -o "layer=$TMP/layer,noassemble" "$base" "$MNT" \
			>"$TMP/said" 2>&1 </dev/null || status=$?
		if [ $status != 0 ]; then
			equal $status 1 "exit status with $file as a $kind: $(cat "$TMP/said")"
			equal "$(wc -l <"$TMP/said")" 1 "lines with $file as a $kind"
			! mountpoint -q "$MNT" || fail "$file as a $kind is refused and mounted"
			[ -e "$TMP/layer/$file" ] || [ -L "$TMP/layer/$file" ] ||
				fail "$file as a $kind is refused and gone"
			refusals=$((refusals + 1))
			continue
		fi
		use_it || fail "$file as a $kind: $(cat "$TMP/used")"
		unmount_and_wait
		mounts=$((mounts + 1))
	done
done <<'END'
LAYER
LAYER.new
MERGE
MOVING
organs/blk_0_ffn_up.bin
organs/blk_0_ffn_up.bin.xxh128
organs/blk_4_ffn_up.bin.zst
organs/blk_5_ffn_up.bin.from
organs/blk_3_ffn_up.bin.ref
organs/.wh.blk_2_ffn_up.bin
metadata/.wh.general.name
metadata/.typed.general.description
metadata/llama.context_length
adapters/a.gguf
adapters/a.gguf.scale
.stage/0
.stage/0.zst
.stage
organs
metadata
adapters
END
[ $mounts -gt "$(rounds 60 10)" ] || fail "only $mounts mounts"
[ $refusals -ge "$(rounds 8 1)" ] || fail "only $refusals refusals"

# What cannot be read is said.
says() {
	local file=$1 kind=$2 pattern=$3
	rm -rf "$TMP/layer"
	cp -a "$TMP/plain" "$TMP/layer"
	odd "$kind" "$TMP/layer/$file"
	mount_model -o "layer=$TMP/layer,noassemble" "$base"
	grep -Eq -- "$pattern" "$MNT/.log" || fail "$file as a $kind: $(cat "$MNT/.log")"
	unmount_and_wait
}
says MOVING fifo 'layer/MOVING: this is not a regular file'
says organs/blk_0_ffn_up.bin fifo 'blk_0_ffn_up.bin: .*this is not a regular file'
says metadata/llama.context_length socket 'llama.context_length: .*this is not a regular file'

# Names that are longer than any of a graft.
rm -rf "$TMP/layer"
cp -a "$TMP/plain" "$TMP/layer"
long=$(printf '%0250d' 0)
echo odd >"$TMP/layer/organs/$long.bin"
echo odd >"$TMP/layer/metadata/$long"
mount_model -o "layer=$TMP/layer,noassemble" "$base"
same "$MNT/organs/blk_0_ffn_up.bin" "$TMP/organ"
log_says "$long.bin: left alone"
unmount_and_wait

# A directory in which an interrupted mount has left nothing but the beginning of a label.
rm -rf "$TMP/layer"
mkdir "$TMP/layer"
mkfifo "$TMP/layer/LAYER.new"
in_time 20 "$ORGANFS" -o "layer=$TMP/layer,noassemble" "$base" "$MNT" \
	>"$TMP/said" 2>&1 </dev/null ||
	fail "the mount hangs, or says: $(cat "$TMP/said")"
exists "$TMP/layer/LAYER"
unmount_and_wait

# A link in the place of the stage leads nowhere: nothing is written outside of the layer.
rm -rf "$TMP/layer" "$TMP/outside"
cp -a "$TMP/plain" "$TMP/layer"
rm -r "$TMP/layer/.stage"
mkdir "$TMP/outside"
ln -s "$TMP/outside" "$TMP/layer/.stage"
echo mine >"$TMP/outside/0.zst"
mount_model -o "layer=$TMP/layer,noassemble" "$base"
expect_fail 'not a directory' cp "$TMP/organ" "$MNT/organs/blk_6_ffn_up.bin"
log_says 'cannot be staged in .*: Not a directory'
unmount_and_wait
equal "$(cat "$TMP/outside/0.zst")" mine
equal "$(ls -A "$TMP/outside")" 0.zst 'files outside of the layer'

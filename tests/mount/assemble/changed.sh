#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# timeout: 300
# The base is cut or changed, or the daemon dies, during an assembly: the target is the old or the
# new model, whole, and the next assembly leaves nothing else.
. "${0%/*}/../lib.sh"

base=$TMP/large.gguf
"$GGUF" synth "$base" --tensors 20 --vocab 10 --size 16M
"$GGUF" organ "$base" blk.1.ffn_up.weight "$TMP/organ.bin"
printf 'graft' | dd of="$TMP/organ.bin" conv=notrunc bs=1 seek=2000 status=none
mkdir "$TMP/out"
layer=$TMP/layer
target=$TMP/out/out.gguf

# Mount with a graft.
begin_mount() {
	rm -rf "$layer"
	mount_held pwrite64 -o "layer=$layer" "$base"
	cp "$TMP/organ.bin" "$MNT/organs/blk_1_ffn_up.bin"
	echo old >"$target"
}

# Release one more piece unless half of it is written.
is_half_way() {
	hold
	[ "$(stat -c %b "$TMP/out"/.organfs-*.part 2>/dev/null || echo 0)" -gt 0 ] &&
		grep -q '^assembling: [1-9]' "$MNT/.assemble"
}

begin() {
	hold
	echo "!$target" >"$MNT/.assemble" 2>/dev/null &
	writer=$!
	until_true 60 is_half_way || late "not under way: $(cat "$MNT/.assemble")"
}

# Make the expected model.
mount_model -o "layer=$layer" "$base"
cp "$TMP/organ.bin" "$MNT/organs/blk_1_ffn_up.bin"
cp "$MNT/model.gguf" "$TMP/expected"
unmount_and_wait

cut_base() {
	truncate -s 12M "$base"
}
write_base() {
	printf 'x' | dd of="$base" bs=1 seek=12M conv=notrunc status=none
}
cp --sparse=always "$base" "$TMP/whole"
for change in cut_base write_base; do
	begin_mount
	begin
	$change
	release
	wait $writer && fail "$change: the writer was not told"
	assembly_says 'changed on disk'
	equal "$(cat "$target")" old "$change"
	equal "$(ls -A "$TMP/out")" out.gguf "$change"
	unmount_and_wait
	cp --sparse=always "$TMP/whole" "$base"
done

# At SIGTERM the daemon ends after the current assembly, at SIGKILL at once.
for signal in TERM KILL; do
	begin_mount
	begin
	kill -s $signal "${DAEMON[$MNT]}"
	release
	wait "${DAEMON[$MNT]}" 2>/dev/null || true
	wait $writer 2>/dev/null || true
	unset "DAEMON[$MNT]"
	fusermount3 -uz "$MNT" 2>/dev/null || true
	cmp -s "$target" <(echo old) || same "$target" "$TMP/expected"
	mount_model -o "layer=$layer" "$base"
	echo "$TMP/out/other.gguf" >"$MNT/.assemble"
	same "$TMP/out/other.gguf" "$TMP/expected"
	equal "$(ls -A "$TMP/out" | tr '\n' ' ')" 'other.gguf out.gguf ' "what $signal left"
	cmp -s "$target" <(echo old) || same "$target" "$TMP/expected"
	rm "$TMP/out/other.gguf"
	unmount_and_wait
done

#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# timeout: 300
# While an assembly runs, its base is cut or written to, or the daemon dies: the target is the old
# one or the new one, whole, and after the next assembly nothing else is left.
. "${0%/*}/../lib.sh"

faulty=${ORGANFS%/*}/tests/tools/organfs-faults
[ -x "$faulty" ] || skip "$faulty is not built"
base=$TMP/large.gguf
"$GGUF" synth "$base" --tensors 20 --vocab 10 --size 16M
"$GGUF" organ "$base" blk.1.ffn_up.weight "$TMP/organ.bin"
printf 'graft' | dd of="$TMP/organ.bin" conv=notrunc bs=1 seek=2000 status=none
mkdir "$TMP/out"
layer=$TMP/layer
target=$TMP/out/out.gguf

# under CALL [OPTIONS]: mounted with a graft, every such call slow.
under() {
	rm -rf "$layer"
	ORGANFS_FAULT=$1:1:slow+ "$faulty" -f -o "layer=$layer${2:+,$2}" "$base" "$MNT" \
		>>"$LOGS/mnt" 2>&1 </dev/null &
	DAEMON[$MNT]=$!
	until_true 20 is_up "$MNT" || late "$MNT is not mounted after 20 s"
	cp "$TMP/organ.bin" "$MNT/organs/blk_1_ffn_up.bin"
	echo old >"$target"
}

half_way() {
	[ "$(stat -c %b "$TMP/out"/.organfs-*.part 2>/dev/null || echo 0)" -gt 0 ] &&
		grep -q '^assembling: [1-9]' "$MNT/.assemble"
}

begin() {
	echo "$target" >"$MNT/.assemble" 2>/dev/null &
	writer=$!
	until_true 60 half_way || late "not under way: $(cat "$MNT/.assemble")"
}

# The model as it should be, at a time when no disk is slow.
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
	under pwrite64
	begin
	$change
	wait $writer && fail "$change: the writer was not told"
	assembly_says 'can no longer be read: it was changed on disk since it was mounted'
	equal "$(cat "$target")" old "$change"
	equal "$(ls -A "$TMP/out")" out.gguf "$change"
	unmount_and_wait
	cp --sparse=always "$TMP/whole" "$base"
done

# The daemon ends: by itself, when it has written what it had begun, or at once.
for signal in TERM KILL; do
	under pwrite64
	begin
	kill -s $signal "${DAEMON[$MNT]}"
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

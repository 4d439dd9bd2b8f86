#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# timeout: 180
# A model of a merge is truncated during a read, or lies in a mount whose daemon stops: readers of
# merged organs get an error or wait, no other process does, and no wrong bytes are read.
. "${0%/*}/../lib.sh"

base=$(use scribe-Q4_K_M)
use clerk-Q4_K_M >"$TMP/said"
cd "$TMP"
cp clerk-Q4_K_M.gguf whole.gguf
other=$TMP/other

# config MODEL: both in equal parts.
config() {
	printf 'merge_method: linear\nparameters: {weight: 1}\nmodels:\n'
	printf -- '- model: %s\n' scribe-Q4_K_M "$1"
}

# A process that has the file open truncates it during a read.
mount_model -o noassemble "$base"
config clerk-Q4_K_M >"$MNT/.merge"
cp "$MNT/model.gguf" merged.gguf
exec 3<"$MNT/model.gguf"
head -c 300000 <&3 | cmp -n 300000 - merged.gguf
truncate -s 100000 clerk-Q4_K_M.gguf
# Cached pages of the kernel do not change.
expect_fail 'input/output error' dd of=read bs=64K iflag=direct <&3
expect_fail 'input/output error' cat "$MNT/organs/blk_0_ffn_up.bin"
expect_fail 'i/o error' sh -c "echo x.gguf >'$MNT/.assemble'"
log_says 'clerk-Q4_K_M\.gguf'
cmp -n "$(stat -c %s read)" read merged.gguf
in_time 20 cat "$MNT/.base/organs/blk_0_ffn_up.bin" >read || fail 'the base cannot be read'
exec 3<&-
rm "$MNT/.merge"
same "$MNT/model.gguf" "$base"
cp whole.gguf clerk-Q4_K_M.gguf

# The model lies in another mount, which stops: reads wait for some seconds and fail.
mount_model -o noassemble clerk-Q4_K_M.gguf "$other"
cp "$other/organs/blk_1_ffn_up.bin" "$other/organs/blk_2_ffn_up.bin"
config "$other/model.gguf" >hanging.yml
cp hanging.yml "$MNT/.merge"
in_time 60 cat "$MNT/organs/blk_0_ffn_up.bin" >organ
stop "${DAEMON[$other]}"
pids=()
for organ in "$MNT"/*/blk_[1-5]_*.bin; do
	cat "$organ" >/dev/null 2>&1 &
	pids+=($!)
done
# Some tensors are in the page cache, so their readers do not wait.
are_held() {
	local pid held=0
	for pid in "${pids[@]}"; do
		if wait_inside "$pid"; then
			held=$((held + 1))
		else
			is_gone "$pid" || return 1
		fi
	done
	[ $held -ge 10 ]
}
until_true 60 are_held || late 'a reader does not wait'
cp hanging.yml "$MNT/.merge" >said 2>&1 &
writer=$!
until_true 60 eval "wait_inside $writer || is_gone $writer" || late 'the writer does not wait'
in_time 20 ls -lR "$MNT" >list || fail 'ls waits'
in_time 20 cat "$MNT/.base/organs/blk_3_ffn_up.bin" >read || fail 'readers of the base wait'
in_time 20 cat "$MNT/.grafts" "$MNT/.merge" >read || fail 'lists wait'
in_time 20 cp "$MNT/.base/organs/blk_3_ffn_up.bin" "$MNT/organs/" || fail 'a graft waits'
in_time 20 cat "$MNT/organs/blk_3_ffn_up.theta" >read || fail 'measuring waits'
! wait $writer || fail 'a configuration is in force whose model gives no answer'
log_says '\.merge: refused: .*other/model\.gguf.*; nothing is changed'
same hanging.yml "$MNT/.merge"
kill -CONT "${DAEMON[$other]}"
for pid in "${pids[@]}"; do
	wait "$pid" || fail 'a reader does not go on'
done
same organ "$MNT/organs/blk_0_ffn_up.bin"
rm "$MNT/.merge"
# The kernel's dentries of the merge keep files of the other mount open.
unmount_and_wait
unmount_and_wait "$other"

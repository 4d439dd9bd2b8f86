#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The clock jumps during a mount and between mounts, years ahead and back before 1970: grafts,
# reads, θ and assemblies still work, and the next mount takes up the same layer.
. "${0%/*}/../lib.sh"

with_clock
base=$(use stories260K)
for block in 0 1 2 3 4; do
	"$GGUF" organ "$MODELS/stories260K-donor.gguf" blk.$block.ffn_up.weight \
		"$TMP/blk_${block}_ffn_up.bin"
done
"$GGUF" splice "$base" "$MODELS/stories260K-donor.gguf" 'blk.*.ffn_up.weight' "$TMP/expected"
mount_model -o noassemble "$base"
cat "$MNT/organs/blk_0_ffn_up.theta" >/dev/null
block=0
for jump in 400000000 -400000000 -2000000000 4000000000 -1; do
	echo $jump >"$CLOCK"
	in_time 30 cp "$TMP/blk_${block}_ffn_up.bin" "$MNT/organs/" || fail "$jump: no graft"
	same "$MNT/organs/blk_${block}_ffn_up.bin" "$TMP/blk_${block}_ffn_up.bin"
	in_time 30 cat "$MNT/organs/blk_${block}_ffn_up.theta" "$MNT/.theta" "$MNT/.grafts" \
		"$MNT/.check" "$MNT/.recipe" >/dev/null || fail "$jump: no texts"
	in_time 30 rm "$MNT/norm/blk_${block}_attn_norm.bin"
	in_time 30 cp "$MNT/.base/norm/blk_${block}_attn_norm.bin" "$MNT/norm/"
	! in_time 30 cp /etc/hostname "$MNT/organs/blk_0_ffn_down.bin" 2>/dev/null ||
		fail "$jump: junk is taken"
	log_says 'graft refused'
	[ $((block % 2)) = 0 ] && unmount_and_wait || kill_daemon
	mount_model -o noassemble "$base"
	equal "$(wc -l <"$MNT/.grafts")" $((block += 1)) "$jump: grafts"
done
in_time 30 bash -c 'echo "$1" >"$2"' - "$TMP/out.gguf" "$MNT/.assemble"
same "$TMP/out.gguf" "$TMP/expected"
unmount_and_wait

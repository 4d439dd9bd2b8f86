#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# timeout: 600
# Random reads, writes, truncations, maps and copies of ranges on a scratch file and on the data of
# an organ agree with a copy in memory; the organ's slot then holds the written bytes, the base its
# old ones. FSX and SEED set the number of operations on each and the seed.
. "${0%/*}/../lib.sh"

fsx=${ORGANFS%/*}/tests/tools/fsx
[ -x "$fsx" ] || skip "$fsx is not built"
base=$(use stories260K)
seed=${SEED:-1}
operations=${FSX:-5000}
mount_model -o noassemble "$base"
# The first listing reads the organs' times, by a descriptor that stays.
ls -l "$MNT/norm" >/dev/null
before=$(descriptors)

"$fsx" -s "$seed" -n "$operations" "$MNT/organs/.scratch~"
rm "$MNT/organs/.scratch~"
equal "$(wc -l <"$MNT/.grafts")" 0 'lines in .grafts'
no_leak $((before + 4)) # the layer's

# One organ is in a row of the layer, one in a file. The header is the length of the name, the
# name, and 24 more bytes.
fills() {
	local name=$2 slot=$MNT/$1.bin header=$((4 + ${#2} + 4 + 16 + 4))
	head -c $header "$slot" >"$TMP/header"
	"$fsx" -s "$seed" -n "$operations" -f $header "$slot"
	head -c $header "$slot" | cmp - "$TMP/header" || fail "the header of $name changed"
	differ "$slot" "$MNT/.base/$1.bin"
	cp "$slot" "$TMP/${1##*/}"
}
fills organs/blk_1_ffn_down blk.1.ffn_down.weight
no_leak $((before + 4))
fills embed/token_embd token_embd.weight
no_leak $((before + 5)) # and the file's
layer=$(echo "$XDG_STATE_HOME"/organfs/*)
equal "$(layer_file "$layer" organs/blk_1_ffn_down)" ''
exists "$(layer_file "$layer" embed/token_embd)"
equal "$(cut -f 1 "$MNT/.grafts" | sort)" $'embed/token_embd.bin\norgans/blk_1_ffn_down.bin'
kill_daemon
mount_model -o noassemble "$base"
same "$MNT/organs/blk_1_ffn_down.bin" "$TMP/blk_1_ffn_down"
same "$MNT/embed/token_embd.bin" "$TMP/token_embd"
unmount_and_wait
same "$base" "$MODELS/stories260K.gguf"

#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# timeout: 600
# Random reads, writes, truncations, maps and copies of ranges on a scratch file and on the data of
# an organ agree with a copy in memory; the organ's slot then holds what was written, the base what
# it held. FSX and SEED may be set: the number of operations on each.
. "${0%/*}/../lib.sh"

fsx=${ORGANFS%/*}/tests/tools/fsx
[ -x "$fsx" ] || skip "$fsx is not built"
base=$(use stories260K)
seed=${SEED:-1}
operations=${FSX:-5000}
mount_model -o noassemble "$base"
# The first look reads for the times of the organs, by a descriptor that stays.
ls -l "$MNT/norm" >/dev/null
before=$(descriptors)

"$fsx" -s "$seed" -n "$operations" "$MNT/organs/.scratch~"
rm "$MNT/organs/.scratch~"
equal "$(wc -l <"$MNT/.grafts")" 0 'lines in .grafts'
no_leak $((before + 1)) # the layer's

# The header is the name's length, 21 bytes of name, and 24 more.
slot=$MNT/organs/blk_1_ffn_down.bin
header=$((4 + 21 + 4 + 16 + 4))
head -c $header "$slot" >"$TMP/header"
"$fsx" -s "$seed" -n "$operations" -f $header "$slot"
head -c $header "$slot" | cmp - "$TMP/header" || fail 'the header changed'
differ "$slot" "$MNT/.base/organs/blk_1_ffn_down.bin"
cp "$slot" "$TMP/organ"
equal "$(cut -f 1 "$MNT/.grafts")" organs/blk_1_ffn_down.bin
no_leak $((before + 2)) # and the graft's
kill_daemon
mount_model -o noassemble "$base"
same "$slot" "$TMP/organ"
unmount_and_wait
same "$base" "$MODELS/stories260K.gguf"

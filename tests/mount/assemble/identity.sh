#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The file that .assemble writes equals model.gguf at every step of grafting.
. "${0%/*}/../lib.sh"

base=$(use scribe-Q4_K_M)
donor=$(use clerk-Q4_K_M)
mkdir "$TMP/donor"
mount_model "$base"
mount_model -o ro "$donor" "$TMP/donor"
for organ in blk_0_attn_q blk_5_attn_v blk_2_attn_output; do
	cp "$TMP/donor/skeleton/$organ.bin" "$MNT/skeleton/"
	echo "$TMP/out.gguf" >"$MNT/.assemble"
	same "$TMP/out.gguf" "$MNT/model.gguf"
	"$GGUF" check-mount --grafted "$TMP/out.gguf" "$MNT"
done
# A Q6_K organ goes into a Q4_K slot.
tail -n 3 "$MNT/.grafts"
large=$("$GGUF" organs "$donor" | awk '/attn_v/ && $2 == "Q6_K" { print $1; exit }')
small=$("$GGUF" organs "$base" | awk '/attn_v/ && $2 == "Q4_K" { print $1; exit }')
"$GGUF" organ "$donor" "$large" "$TMP/organ.bin"
name=${small%.weight}
cp "$TMP/organ.bin" "$MNT/skeleton/${name//./_}.bin"
echo "$TMP/out.gguf" >"$MNT/.assemble"
same "$TMP/out.gguf" "$MNT/model.gguf"
"$GGUF" check-mount --grafted "$TMP/out.gguf" "$MNT"
unmount_and_wait
absent "$TMP/scribe-Q4_K_M.grafted.gguf"
unmount_and_wait "$TMP/donor"

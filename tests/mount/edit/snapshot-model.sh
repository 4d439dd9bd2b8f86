#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# An open model.gguf keeps the content of its open, despite later grafts.
. "${0%/*}/../lib.sh"

base=$(use stories260K)
donor=$(use stories260K-donor)
mount_model "$base"
before=$(descriptors)
exec 8<"$MNT/model.gguf"
mapped=$TMP/mapped
python3 - "$MNT/model.gguf" "$base" "$TMP/go" <<'END' &
import mmap, os, sys, time
f = os.open(sys.argv[1], os.O_RDONLY)
base = open(sys.argv[2], "rb").read()
m = mmap.mmap(f, len(base), mmap.MAP_SHARED, mmap.PROT_READ)
open("mapped", "w").close()
while not os.path.exists(sys.argv[3]):
    time.sleep(0.02)
sys.exit(m[:] != base)
END
holder=$!
until_true 20 test -e "$mapped"
"$GGUF" organ "$MODELS/stories260K-q8_0.gguf" blk.1.ffn_up.weight "$TMP/small.bin"
cp "$TMP/small.bin" "$MNT/organs/blk_1_ffn_up.bin"
exec 7<"$MNT/model.gguf"
"$GGUF" relayout "$base" "$MODELS/stories260K-q8_0.gguf" blk.1.ffn_up.weight "$TMP/second"
"$GGUF" organ "$donor" token_embd.weight "$TMP/large.bin"
cp "$TMP/large.bin" "$MNT/embed/token_embd.bin"
"$GGUF" relayout "$TMP/second" "$donor" token_embd.weight "$TMP/third"
touch "$TMP/go"
wait $holder || fail 'the map changed'
cmp - "$base" <&8
cmp - "$TMP/second" <&7
same "$MNT/model.gguf" "$TMP/third"
exec 8<&- 7<&-
no_leak $((before + 5)) # the layer, and the one graft outside of a row
unmount_and_wait

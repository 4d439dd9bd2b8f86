#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# An added block has to be whole; the mount's files count the same blocks and tensors as the
# assembled model.
. "${0%/*}/../lib.sh"
. "${0%/*}/lib.sh"

base=$(use scribe-Q4_K_M)
mount_model -o noassemble "$base"

# block_count and number of tensors agree in model.gguf and all files that have them.
agrees() {
	local said
	said=$(python3 - "$MNT/model.gguf" "${GGUF%/*}" <<'END'
import sys
sys.path.insert(0, sys.argv[2])
import gguf
m = gguf.Model(sys.argv[1])
print(m.get(b"llama.block_count"), len(m.tensors))
END
)
	equal "$said" "$1 $2"
	equal "$(cat "$MNT/metadata/llama.block_count")" "$1" 'metadata/llama.block_count'
	grep -q "^model blocks  *$1," "$MNT/.theta" || fail "$(grep blocks "$MNT/.theta")"
	grep -q "^model tensors  *$2\$" "$MNT/.theta" || fail "$(grep tensors "$MNT/.theta")"
	grep -q ">llama, blocks 0-$(($1 - 1)), $2 tensors<" "$MNT/theta.svg" || fail 'theta.svg'
	python3 - "$MNT/manifest.json" "$1" "$2" <<'END'
import json, sys
m = json.load(open(sys.argv[1]))
assert m["metadata"]["llama.block_count"] == int(sys.argv[2]), m["metadata"]["llama.block_count"]
assert len(m["tensors"]) == int(sys.argv[3]), len(m["tensors"])
END
}

agrees 6 57
# One tensor of nine is added.
cp "$MNT/organs/blk_5_ffn_up.bin" "$MNT/organs/blk_6_ffn_up.bin"
says impossible complete 'blk 6 .*lacks attn_k, .*, ffn_down, ffn_gate, ffn_norm$'
says ok blocks '7 from 0 on'
agrees 7 58
# All but one are added, then all.
for file in "$MNT"/*/blk_5_*.bin; do
	to=${file/blk_5_/blk_6_}
	case $to in *ffn_gate*) ;; *) cp "$file" "$to" ;; esac
done
says impossible complete 'blk 6 .*lacks ffn_gate$'
cp "$MNT/organs/blk_5_ffn_gate.bin" "$MNT/organs/blk_6_ffn_gate.bin"
says ok complete 'no block'
agrees 7 66
rm "$MNT/skeleton/blk_6_attn_k.bin"
says impossible complete 'blk 6 .*lacks attn_k'
rm "$MNT"/*/blk_6_*.bin
agrees 6 57
# Blocks are removed; an edited block_count wins.
rm "$MNT"/*/blk_5_*.bin
agrees 5 48
echo 9 >"$MNT/metadata/llama.block_count"
equal "$(cat "$MNT/metadata/llama.block_count")" 9
cp "$MNT/.base/metadata/llama.block_count" "$MNT/metadata/"
agrees 5 48
unmount_and_wait
mount_model -o noassemble,blocks=keep "$base"
equal "$(cat "$MNT/metadata/llama.block_count")" 6
unmount_and_wait

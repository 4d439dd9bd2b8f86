#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Added tensors are listed in the assembled model's order, not in that of their addition: the next
# mount lists the same.
. "${0%/*}/../lib.sh"

base=$(use stories260K)
mount_model -o noassemble "$base"
for name in ffn_up attn_q ffn_norm attn_norm attn_output ffn_down attn_v ffn_gate attn_k; do
	ln "$MNT"/*/blk_0_$name.bin "$(dirname "$MNT"/*/blk_0_$name.bin)/blk_5_$name.bin"
done
files=(manifest.json .report.json .table .grafts .undo checksums.xxh128 .views/gguf-hash.xxh64
	skeleton/.theta organs/.theta norm/.theta)
for file in "${files[@]}"; do
	mkdir -p "$(dirname "$TMP/first/$file")"
	cat "$MNT/$file" >"$TMP/first/$file"
done
"$GGUF" organs "$MNT/model.gguf" | cut -f 1 >"$TMP/names"
python3 - "$MNT" "$TMP/names" <<'EOF'
import json
import sys
names = open(sys.argv[2]).read().split()
for file, name in ('manifest.json', 'name'), ('.report.json', 'tensor'):
    tensors = json.load(open(f'{sys.argv[1]}/{file}'))['tensors']
    assert [tensor[name] for tensor in tensors] == names, file
EOF
equal "$(grep '^tensor' "$MNT/.table" | cut -f 3)" "$(cat "$TMP/names")"
unmount_and_wait

mount_model -o noassemble "$base"
for file in "${files[@]}"; do
	# The mount itself.
	cat "$MNT/$file" | diff "$TMP/first/$file" - || fail "$file is another one"
done
unmount_and_wait

#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""layouts KIND OUT [SEED]: a small model whose feed-forward tensors have the layout of another
program than ggml, in the sizes that this program documents.

    forks   types of ik_llama.cpp, with the header of each row, and of PrismML's llama.cpp
    prism   Q2_0 (42) in the older blocks of PrismML: 34 bytes for 128 values, not 18 for 64
    ik      IQ4_KS (144) without the header of its rows: 4 bytes a row are missing
    wide    Q1_0 (41) with twice the room of its blocks
"""
import random
import sys

import gguf

WIDTH, ROWS = 256, 64
PARTS = (b"ffn_gate", b"ffn_up", b"ffn_down")
# Type, and the bytes of a row of WIDTH values.
KINDS = {"forks": [(142, 68), (143, 56), (144, 140), (158, 60), (219, 50), (133, 208)],
         "prism": [(42, 68)], "ik": [(144, 136)], "wide": [(41, 72)]}


def main():
    kind, out = sys.argv[1:3]
    rng = random.Random(sys.argv[3] if len(sys.argv) > 3 else "layouts")
    rows, tensors = KINDS[kind], []

    def add(name, type_id, size):
        tensors.append((name, type_id, size))

    for block in range(2):
        add(b"blk.%d.attn_q.weight" % block, gguf.F32, WIDTH * ROWS * 4)
        for i, part in enumerate(PARTS):
            type_id, row = rows[(3 * block + i) % len(rows)]
            add(b"blk.%d.%s.weight" % (block, part), type_id, row * ROWS)
    add(b"output_norm.weight", gguf.F32, WIDTH * ROWS * 4)
    w = gguf.Writer()
    w.begin(len(tensors), 2)
    w.entry(b"general.architecture", gguf.STRING, b"llama")
    w.entry(b"llama.block_count", gguf.U32, 2)
    offsets = gguf.running_sums([size for _, _, size in tensors], 32)
    for (name, type_id, _), offset in zip(tensors, offsets):
        w.info(name, [WIDTH, ROWS], type_id, offset)
    w.pad(32)
    with open(out, "wb") as f:
        f.write(w.out)
        for _, type_id, size in tensors:
            # Plain values are numbers; other types take any bytes.
            data = rng.randbytes(size) if type_id else gguf.array.array(
                "f", (rng.gauss(0, 1) for _ in range(size // 4))).tobytes()
            f.write(data + bytes(-size % 32))


main()

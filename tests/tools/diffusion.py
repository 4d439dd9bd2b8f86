#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""diffusion KIND OUT [SEED]: a small diffusion model with the tensor names of the real one, as the
converter of ComfyUI-GGUF writes it: no metadata but the architecture and the type of the file.

    flux     double_blocks.N and single_blocks.N, which are numbered apart
    sd3      joint_blocks.N
    wan      blocks.N
    qwen_image  transformer_blocks.N
    lumina2  layers.N
"""
import random
import sys

import gguf

WIDTH = 32
# Names outside the blocks, then for each kind of block: its name, number, and names in it.
KINDS = {
    "flux": ("img_in txt_in time_in.in_layer vector_in.out_layer guidance_in.in_layer "
             "final_layer.linear final_layer.adaLN_modulation.1",
             [("double_blocks", 2, "img_attn.qkv img_attn.proj img_attn.norm.query_norm.scale! "
               "img_mlp.0 img_mlp.2 img_mod.lin txt_attn.qkv txt_mlp.0 txt_mod.lin"),
              ("single_blocks", 3, "linear1 linear2 modulation.lin norm.key_norm.scale!")]),
    "sd3": ("x_embedder.proj t_embedder.mlp.0 y_embedder.mlp.0 context_embedder pos_embed! "
            "final_layer.linear",
            [("joint_blocks", 2, "x_block.attn.qkv x_block.attn.ln_q x_block.mlp.fc1 "
              "x_block.adaLN_modulation.1 context_block.mlp.fc2")]),
    "wan": ("patch_embedding text_embedding.0 time_embedding.2 time_projection.1 head.head "
            "head.modulation!",
            [("blocks", 3, "self_attn.q self_attn.o self_attn.norm_q cross_attn.k norm3 ffn.0 "
              "ffn.2 modulation!")]),
    "qwen_image": ("img_in txt_in txt_norm time_text_embed.timestep_embedder.linear_1 proj_out",
                   [("transformer_blocks", 2, "attn.to_q attn.add_q_proj attn.norm_added_q "
                     "img_mlp.net.0.proj txt_mlp.net.2 img_mod.1")]),
    "lumina2": ("x_embedder cap_embedder.1 t_embedder.mlp.0 norm_final final_layer.linear",
                [("layers", 3, "attention.qkv attention.out attention.q_norm attention_norm1 "
                  "feed_forward.w1 feed_forward.w2 feed_forward.w3 adaLN_modulation.1"),
                 ("context_refiner", 1, "attention.qkv feed_forward.w1")]),
}


def names(kind):
    outside, blocks = KINDS[kind]
    yield from outside.split()
    for block, count, parts in blocks:
        for n in range(count):
            yield from (f"{block}.{n}.{part}" for part in parts.split())


def main():
    kind, out = sys.argv[1:3]
    rng = random.Random(sys.argv[3] if len(sys.argv) > 3 else kind)
    # A "!" stands for a parameter that has no ".weight".
    tensors = [n[:-1] if n.endswith("!") else n + ".weight" for n in names(kind)]
    w = gguf.Writer()
    w.begin(len(tensors), 2)
    w.entry(b"general.architecture", gguf.STRING, kind.encode())
    w.entry(b"general.file_type", gguf.U32, 0)
    size = WIDTH * WIDTH * 4
    for i, name in enumerate(tensors):
        w.info(name.encode(), [WIDTH, WIDTH], gguf.F32, i * size)
    w.pad(32)
    with open(out, "wb") as f:
        f.write(w.out)
        for _ in tensors:
            f.write(gguf.array.array("f", (rng.gauss(0, 1) for _ in range(WIDTH * WIDTH)))
                    .tobytes())


main()

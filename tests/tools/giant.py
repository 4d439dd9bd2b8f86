#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""giant.py - split models too large for a test machine, with holes in place of tensor bytes:
"kimi" has the shapes of a model of 10^12 weights, "ones" has a shard for every tensor.

Writes shards as gguf-split of llama.cpp does, with the functions of gguf.py beside this file.
"""
import argparse
import os
import random

from gguf import (F32, FLOAT, I32, Q4_K, STRING, U16, U32, Writer, align_up, random_blocks,
                  running_sums, size_of)

Q6_K, Q8_0 = 14, 8
SPAN, SPANS = 256, 390


def kimi_tensors():
    """1,096 tensors: 61 blocks, the first one dense, 384 experts in the others, MLA attention."""
    width, experts, hidden, vocabulary = 7168, 384, 2048, 163840
    yield "token_embd.weight", [width, vocabulary], Q4_K
    for i in range(61):
        block = [
            ("attn_norm.weight", [width], F32), ("attn_q_a.weight", [width, 1536], Q8_0),
            ("attn_q_a_norm.weight", [1536], F32), ("attn_q_b.weight", [1536, 12288], Q8_0),
            ("attn_kv_a_mqa.weight", [width, 576], Q8_0), ("attn_kv_a_norm.weight", [512], F32),
            ("attn_k_b.weight", [128, 512, 64], Q8_0), ("attn_v_b.weight", [512, 128, 64], Q8_0),
            ("attn_output.weight", [8192, width], Q8_0), ("ffn_norm.weight", [width], F32)]
        if i == 0:
            block += [("ffn_gate.weight", [width, 18432], Q4_K),
                      ("ffn_up.weight", [width, 18432], Q4_K),
                      ("ffn_down.weight", [18432, width], Q6_K)]
        else:
            block += [("ffn_gate_inp.weight", [width, experts], F32),
                      ("exp_probs_b.bias", [experts], F32),
                      ("ffn_gate_exps.weight", [width, hidden, experts], Q4_K),
                      ("ffn_up_exps.weight", [width, hidden, experts], Q4_K),
                      ("ffn_down_exps.weight", [hidden, width, experts], Q4_K),
                      ("ffn_gate_shexp.weight", [width, hidden], Q8_0),
                      ("ffn_up_shexp.weight", [width, hidden], Q8_0),
                      ("ffn_down_shexp.weight", [hidden, width], Q8_0)]
        for role, ne, type_id in block:
            yield f"blk.{i}.{role}", ne, type_id
    yield "output_norm.weight", [width], F32
    yield "output.weight", [width, vocabulary], Q6_K


def kimi_metadata(w):
    """Write the entries; return their number."""
    w.entry(b"general.architecture", STRING, b"deepseek2")
    w.entry(b"general.name", STRING, b"a model of 10^12 weights")
    for key, value in (("block_count", 61), ("context_length", 131072), ("embedding_length", 7168),
                       ("feed_forward_length", 18432), ("attention.head_count", 64),
                       ("attention.head_count_kv", 1), ("expert_count", 384),
                       ("expert_used_count", 8), ("leading_dense_block_count", 1),
                       ("attention.q_lora_rank", 1536), ("attention.kv_lora_rank", 512)):
        w.entry(f"deepseek2.{key}".encode(), U32, value)
    w.entry(b"deepseek2.rope.freq_base", FLOAT, 50000.0)
    w.entry(b"tokenizer.ggml.model", STRING, b"gpt2")
    w.array(b"tokenizer.ggml.tokens", STRING, [b"token%d" % i for i in range(163840)])
    w.array(b"tokenizer.ggml.token_type", I32, [1] * 163840)
    return 17


def sampled(n):
    """First elements of the spans of a tensor from which θ is computed."""
    total, before = -(-n // SPAN), -1
    for i in range(SPANS):
        turn = (i * 2654435769) & 0xFFFFFFFF
        t = max(((i << 32) + turn) * total // (SPANS << 32), before + 1)
        before = t
        yield t * SPAN


def fill(f, at, ne, type_id, blocks):
    """Write random bytes in the sampled spans, holes elsewhere."""
    n = 1
    for axis in ne:
        n *= axis
    data = blocks[type_id]
    if n <= SPAN * (SPANS + 1):
        size = size_of(type_id, ne)
        os.pwrite(f, (data * (size // len(data) + 1))[:size], at)
        return
    one = size_of(type_id, [SPAN])
    for k, start in enumerate(sampled(n)):
        spot = k * one % (len(data) // one * one)
        os.pwrite(f, data[spot:spot + one], at + size_of(type_id, [SPAN]) * (start // SPAN))


def write_shard(path, tensors, split, metadata, blocks):
    """Write one shard; split: its number, the number of shards, the number of tensors in all."""
    no, count, total = split
    entries = Writer()
    n = metadata(entries) if metadata else 0
    w = Writer()
    w.begin(len(tensors), n + 3)
    w.out += entries.out
    w.entry(b"split.no", U16, no)
    w.entry(b"split.count", U16, count)
    w.entry(b"split.tensors.count", I32, total)
    sizes = [size_of(t, ne) for _, ne, t in tensors]
    offsets = running_sums(sizes, 32)
    for (name, ne, type_id), offset in zip(tensors, offsets):
        w.info(name.encode(), ne, type_id, offset)
    w.pad(32)
    end = len(w.out) + (align_up(offsets[-1] + sizes[-1], 32) if tensors else 0)
    with open(path, "wb") as f:
        f.write(w.out)
        f.truncate(end)
        f.flush()
        for (_, ne, type_id), offset in zip(tensors, offsets):
            if blocks:
                fill(f.fileno(), len(w.out) + offset, ne, type_id, blocks)


def parts_of(tensors, n):
    """Divide tensors into n runs of about the same size."""
    sizes = [size_of(t, ne) for _, ne, t in tensors]
    each, parts, taken = sum(sizes) / n, [[]], 0
    for tensor, size in zip(tensors, sizes):
        if taken >= each * len(parts) and len(parts) < n:
            parts.append([])
        parts[-1].append(tensor)
        taken += size
    return parts


def cmd_kimi(a):
    random.seed(5)
    tensors = list(kimi_tensors())
    parts = parts_of(tensors, a.shards)
    blocks = {t: random_blocks(t) for t in (F32, Q4_K, Q6_K)} if a.filled else None
    if blocks:
        blocks[Q8_0] = b"".join(b"\x10\x18" + random.randbytes(32) for _ in range(1 << 14))
    for i, part in enumerate(parts):
        write_shard(f"{a.stem}-{i + 1:05}-of-{len(parts):05}.gguf", part,
                    (i, len(parts), len(tensors)), None if i else kimi_metadata, blocks)


def ones_metadata(w):
    w.entry(b"general.architecture", STRING, b"llama")
    return 1


def cmd_ones(a):
    random.seed(6)
    blocks = {F32: random_blocks(F32)}
    for i in range(a.n):
        write_shard(f"{a.stem}-{i + 1:05}-of-{a.n:05}.gguf",
                    [(f"blk.{i}.ffn_up.weight", [64, 8], F32)], (i, a.n, a.n),
                    None if i else ones_metadata, blocks)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    sub = commands.add_parser("kimi", help="10^12 weights in 600 GB, sparse")
    sub.add_argument("stem")
    sub.add_argument("--shards", type=int, default=13)
    sub.add_argument("--filled", action="store_true", help="with bytes where theta samples them")
    sub.set_defaults(function=cmd_kimi)
    sub = commands.add_parser("ones", help="n shards of a tensor each")
    sub.add_argument("stem")
    sub.add_argument("n", type=int)
    sub.set_defaults(function=cmd_ones)
    a = parser.parse_args()
    a.function(a)


if __name__ == "__main__":
    main()

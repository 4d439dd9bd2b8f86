#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""lora.py - a second opinion on low-rank adapters: makes and merges them in the obvious way.

Every step of W + factor * B A is rounded to single precision, in the order that measure/lora.h
fixes: the products of an element from rank 0 on, then times the factor, then added to W. Python's
floats are double, which hold enough digits of a product, sum or quotient of two singles for the
following rounding to be right.
"""
import argparse
import math
import random
import re
import struct
import sys

import gguf
from gguf import Model, Writer, Wrong, check, matching, running_sums, size_of

F32, F16, Q4_0, Q8_0, BF16, FLOAT, STRING, U32 = 0, 1, 2, 8, 30, 6, 8, 4
TYPE_IDS = {"F32": F32, "F16": F16, "Q4_0": Q4_0, "Q8_0": Q8_0, "BF16": BF16}
single = struct.Struct("<f")


def rounded(x):
    return single.unpack(single.pack(x))[0]


def half_bytes(x):
    try:
        return struct.pack("<e", x)
    except OverflowError:
        return struct.pack("<e", math.copysign(math.inf, x))


def brain_bytes(x):
    bits = struct.unpack("<I", single.pack(x))[0]
    return struct.pack("<H", (bits + 0x7fff + (bits >> 16 & 1)) >> 16)


def away(x):
    """The nearest integer; a half is rounded away from 0."""
    return int(math.copysign(math.floor(abs(x) + 0.5), x))


def q8_0_bytes(values):
    scale = rounded(max(map(abs, values)) / 127.0)
    inverse = rounded(1.0 / scale) if scale else 0.0
    return half_bytes(scale) + struct.pack("<32b", *(away(rounded(v * inverse)) for v in values))


def q4_0_bytes(values):
    """Encode a block close to the values: tests depend on its decoding only."""
    scale = struct.unpack("<e", half_bytes(max(map(abs, values)) / -8.0))[0]
    q = [min(15, max(0, away(v / scale) + 8)) if scale else 8 for v in values]
    return half_bytes(scale) + bytes(q[i] | q[i + 16] << 4 for i in range(16))


def decode(type_id, data):
    if type_id == F32:
        return list(struct.unpack(f"<{len(data) // 4}f", data))
    if type_id == F16:
        return list(struct.unpack(f"<{len(data) // 2}e", data))
    if type_id == BF16:
        return [struct.unpack("<f", bytes(2) + data[i:i + 2])[0] for i in range(0, len(data), 2)]
    size = gguf.TYPES[type_id][2]
    out = []
    for at in range(0, len(data), size):
        scale = struct.unpack_from("<e", data, at)[0]
        if type_id == Q8_0:
            out += [scale * q for q in struct.unpack_from("<32b", data, at + 2)]
        else:
            check(type_id == Q4_0, f"type {type_id} is not known here")
            block = data[at + 2:at + 18]
            out += [scale * ((b & 15) - 8) for b in block] + [scale * ((b >> 4) - 8) for b in block]
    return out


def encode(type_id, values):
    if type_id == F32:
        return struct.pack(f"<{len(values)}f", *values)
    if type_id in (F16, BF16):
        return b"".join(map(half_bytes if type_id == F16 else brain_bytes, values))
    block = q8_0_bytes if type_id == Q8_0 else q4_0_bytes
    return b"".join(block(values[i:i + 32]) for i in range(0, len(values), 32))


def flipped(name):
    return name.endswith(b"token_embd.weight")


def add(values, ne, a, b, name, alpha, scale):
    """Merge one pair, given as (ne, values), into the values of a tensor with those axes."""
    width, rows, experts = ne[0], ne[1] if len(ne) > 1 else 1, ne[2] if len(ne) > 2 else 1
    turned = flipped(name)
    rank = a[0][0] if turned else a[0][1]
    factor = rounded(rounded(scale * alpha) / rank) if alpha else scale
    for row in range(rows * experts):
        expert = row // rows
        for i in range(width):
            total = 0.0
            for r in range(rank):
                if turned:
                    x, y = a[1][row * rank + r], b[1][i * rank + r]
                else:
                    x, y = b[1][row * rank + r], a[1][(expert * rank + r) * width + i]
                total = rounded(total + rounded(x * y))
            at = row * width + i
            values[at] = rounded(values[at] + rounded(factor * total))


def result_type(type_id, ne, f16):
    if type_id == F32:
        return F32
    if f16 or type_id == F16:
        return F16
    return BF16 if type_id == BF16 else Q8_0 if ne[0] % 32 == 0 else F16


class Adapter:
    def __init__(self, text):
        path, _, scale = text.rpartition("=")
        self.model, self.scales = Model(path), [rounded(float(word)) for word in scale.split(",")]
        self.alpha = self.model.get(b"adapter.lora.alpha", 0.0)
        self.halves = {t.name: t for t in self.model.tensors}

    def scale_at(self, name, blocks):
        """The scale for a tensor, from the gradient at the block in its name."""
        block = re.match(rb"blk\.(\d+)\.", name)
        at = int(block[1]) / max(blocks - 1, 1) * (len(self.scales) - 1) if block else 0.0
        below = min(int(at), len(self.scales) - 1)
        above = min(below + 1, len(self.scales) - 1)
        return rounded((1.0 - at + below) * self.scales[below] + (at - below) * self.scales[above])

    def half(self, name):
        t = self.halves.get(name)
        return t and (t.ne, decode(t.type, self.model.data(t)))


def merged(model, t, adapters, f16):
    """Type and bytes of a tensor merged with the adapters; None if they do not change it."""
    values = None
    blocks = model.get(b"llama.block_count", 0)
    for adapter in adapters:
        a, b = adapter.half(t.name + b".lora_a"), adapter.half(t.name + b".lora_b")
        scale = adapter.scale_at(t.name, blocks)
        if a and b and scale:
            values = values or decode(t.type, model.data(t))
            add(values, t.ne, a, b, t.name, adapter.alpha, scale)
    if values is None:
        return None
    to = result_type(t.type, t.ne, f16)
    return to, encode(to, values)


def cmd_merge(a):
    base, adapters = Model(a.base), [Adapter(text) for text in a.adapters]
    out = bytearray(base.bytes[:])
    changed = 0
    for t in base.tensors:
        now = merged(base, t, adapters, False)
        if now:
            check(now[0] == t.type, f"{t.name!r}: the type changes, use organ")
            out[t.offset:t.offset + t.size] = now[1]
            changed += 1
    with open(a.out, "wb") as f:
        f.write(out)
    print(changed)


def cmd_organ(a):
    base, adapters = Model(a.base), [Adapter(text) for text in a.adapters]
    t = base.tensor(a.tensor.encode())
    now = merged(base, t, adapters, a.f16)
    check(now, "no adapter changes the tensor")
    t.type = now[0]
    with open(a.out, "wb") as f:
        f.write(gguf.organ_header(t) + now[1])


def random_values(n, seed, size):
    numbers = random.Random(seed)
    return [rounded(numbers.uniform(-size, size)) for _ in range(n)]


def write_model(out, entries, tensors):
    """Write an adapter; tensors: name, axes, type and values."""
    w = Writer()
    w.begin(len(tensors), len(entries))
    for entry in entries:
        w.entry(*entry)
    sizes = [size_of(type_id, ne) for _, ne, type_id, _ in tensors]
    for (name, ne, type_id, _), offset in zip(tensors, running_sums(sizes, 32)):
        w.info(name, ne, type_id, offset)
    w.pad(32)
    for _, _, type_id, values in tensors:
        w.out += encode(type_id, values)
        w.pad(32)
    with open(out, "wb") as f:
        f.write(w.out)


def pair_axes(t, rank):
    if flipped(t.name):
        return [rank, t.ne[1]], [rank, t.ne[0]]
    rest = list(t.ne[2:])
    return [t.ne[0], rank] + rest, [rank, t.ne[1] if len(t.ne) > 1 else 1] + rest


def cmd_make(a):
    base = Model(a.base)
    tensors = []
    for pattern in a.patterns:
        for name in matching(base, pattern):
            for ne, end in zip(pair_axes(base.tensor(name), a.rank), (b".lora_a", b".lora_b")):
                n = math.prod(ne)
                values = random_values(n, f"{a.seed} {name} {end}", 0.5)
                tensors.append((name + end, ne, TYPE_IDS[a.type], values))
    entries = [(b"general.type", STRING, b"adapter"), (b"adapter.type", STRING, b"lora"),
               (b"general.architecture", STRING, base.get(b"general.architecture", b"llama"))]
    if a.alpha:
        entries.append((b"adapter.lora.alpha", FLOAT, a.alpha))
    if a.drop:
        tensors = [t for t in tensors if t[0] != a.drop.encode()]
    write_model(a.out, entries, tensors)


def cmd_host(a):
    """Write a model with a tensor of each type, and stacks of experts."""
    entries = [(b"general.architecture", STRING, b"llama"), (b"llama.block_count", U32, 1)]
    tensors = [(b"token_embd.weight", [64, 40], Q4_0),
               (b"blk.0.ffn_gate_exps.weight", [32, 8, 4], F16),
               (b"blk.0.ffn_down_exps.weight", [32, 6, 3], Q4_0),
               (b"blk.0.attn_q.weight", [64, 16], BF16), (b"blk.0.attn_k.weight", [40, 16], F16),
               (b"blk.0.attn_v.weight", [96, 16], Q8_0), (b"blk.0.attn_norm.weight", [64], F32)]
    write_model(a.out, entries, [(name, ne, type_id, random_values(math.prod(ne), name, 1.0))
                                 for name, ne, type_id in tensors])


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    def command(name, function, names, text):
        sub = commands.add_parser(name, help=text)
        for each in names.split():
            sub.add_argument(each)
        sub.set_defaults(function=function)
        return sub

    sub = command("make", cmd_make, "base out", "make an adapter for tensors of a model")
    sub.add_argument("patterns", nargs="+")
    sub.add_argument("--rank", type=int, default=4)
    sub.add_argument("--alpha", type=float, default=8.0, help="0: none")
    sub.add_argument("--type", choices=TYPE_IDS, default="F32")
    sub.add_argument("--seed", default="")
    sub.add_argument("--drop", help="without the tensor of that name")
    sub = command("merge", cmd_merge, "base out", "merge into a copy, whose types stay")
    sub.add_argument("adapters", nargs="+", metavar="FILE=SCALE")
    sub = command("organ", cmd_organ, "base tensor out", "one tensor with adapters as organ file")
    sub.add_argument("adapters", nargs="+", metavar="FILE=SCALE")
    sub.add_argument("--f16", action="store_true")
    command("host", cmd_host, "out", "make a small model of many types")
    return parser.parse_args()


def main():
    a = arguments()
    try:
        a.function(a)
    except Wrong as wrong:
        sys.exit(f"lora.py: {wrong}")
    except (OSError, struct.error, KeyError, ValueError) as error:
        sys.exit(f"lora.py: {type(error).__name__}: {error}")


if __name__ == "__main__":
    main()

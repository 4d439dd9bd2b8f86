#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""ablate.py - a second opinion on control vectors: makes vectors, and removes directions in NumPy.

A direction d of unit length is removed from a matrix W whose rows are channels of the residual
stream by W - scale * d (d' W), and from rows e that have all channels by e - scale * (e d) d'. A
QR decomposition first makes several rows of a direction orthonormal. A scale is a number, or a
gradient over the blocks: several numbers between commas. With ",keep" behind them each column, or
row, is scaled back to its norm. All arithmetic is double precision.
"""
import argparse
import struct
import sys

import numpy as np

from gguf import I32, Model, STRING, Wrong, check
from lora import F16, F32, write_model

COLUMNS = ("attn_output.weight", "ffn_down.weight", "ffn_down_exps.weight")
ROWS = ("attn_output.bias", "ffn_down.bias", "ffn_down_exps.bias")


def values_of(model, t):
    """The tensor as a list of experts, each an array of rows."""
    check(t.type in (F32, F16), f"{t.name!r}: the type is not known here")
    values = np.frombuffer(model.data(t), "<f4" if t.type == F32 else "<f2")
    ne = list(t.ne) + [1, 1]
    return values.astype(np.float64).reshape(-1, ne[1], ne[0])


def direction_for(vectors, name):
    """The orthonormal columns that are removed from the tensor, and whether its rows have all
    channels; None: the tensor stays as it is."""
    name = name.decode()
    parts = name.split(".", 2)
    by_row = name == "token_embd.weight" or parts[-1] in ROWS
    if not by_row and parts[-1] not in COLUMNS:
        return None
    number = "0" if name == "token_embd.weight" else parts[1]
    found = [t for t in vectors.tensors if t.name == b"direction." + number.encode()]
    return (np.linalg.qr(values_of(vectors, found[0])[0].T)[0], by_row) if found else None


def take_out(w, v, by_row, scale, keep=False):
    result = w - scale * (w @ v @ v.T if by_row else v @ (v.T @ w))
    if not keep:
        return result
    axis = -1 if by_row else -2
    return result * (np.linalg.norm(w, axis=axis, keepdims=True) /
                     np.linalg.norm(result, axis=axis, keepdims=True))


def block_of(name):
    parts = name.decode().split(".", 2)
    return int(parts[1]) if parts[0] == "blk" else None


def scale_at(text, name, blocks):
    """The scale for a tensor, and whether norms are kept."""
    words = text.split(",")
    keep = words[-1] == "keep"
    numbers = [float(word) for word in words[:-1] if keep] or [float(word) for word in words]
    block = block_of(name)
    at = [0.0] if block is None else np.linspace(0, len(numbers) - 1, blocks)[block:][:1]
    return float(np.interp(at, range(len(numbers)), numbers)[0]), keep


def check_tensor(t, now, wanted, taken):
    unit = {F32: 2e-6, F16: 2 ** -11}[t.type]
    size = np.abs(wanted).max()
    off = np.abs(now - wanted).max()
    check(off <= unit * size, f"{t.name!r}: {off:.2g} off, of {size:.2g}")
    for v, by_row, scale, _ in taken[-1:]:
        left = np.abs(now @ v if by_row else v.T @ now).max()
        check(scale != 1 or left <= 8 * unit * size, f"{t.name!r}: {left:.2g} of it is left")


def cmd_check(a):
    base, result = Model(a.base), Model(a.result)
    vectors = [text.rpartition("=") for text in a.vectors]
    vectors = [(Model(path), scale) for path, _, scale in vectors]
    blocks = 1 + max(block_of(t.name) or 0 for t in base.tensors)
    changed = 0
    for t, u in zip(base.tensors, result.tensors, strict=True):
        check((t.name, t.ne, t.type) == (u.name, u.ne, u.type), f"{t.name!r}: another tensor")
        found = [(direction_for(model, t.name), scale_at(text, t.name, blocks))
                 for model, text in vectors]
        taken = [each + scale for each, scale in found if each and scale[0]]
        if not taken:
            check(base.data(t) == result.data(u), f"{t.name!r}: it should be as it was")
            continue
        wanted = values_of(base, t)
        for each in taken:
            wanted = take_out(wanted, *each)
        check_tensor(t, values_of(result, u), wanted, taken)
        changed += 1
    print(changed)


def cmd_same(a):
    """Check that two models differ only by rounding."""
    one, other = Model(a.one), Model(a.other)
    for t, u in zip(one.tensors, other.tensors, strict=True):
        if t.type not in (F32, F16):
            continue
        x, y = values_of(one, t), values_of(other, u)
        off = np.abs(x - y).max()
        check(off <= a.off * np.abs(x).max(), f"{t.name!r}: {off:.2g} off")


def cmd_make(a):
    numbers = np.random.default_rng(a.seed)
    tensors = []
    for block in a.blocks:
        ne = [a.channels, a.rows] if a.rows > 1 else [a.channels]
        values = numbers.normal(0, 3, a.channels * a.rows).astype(np.float32)
        tensors.append((f"direction.{block}".encode(), ne, F32, list(map(float, values))))
    if a.value is not None:
        tensors[-1][3][:] = [a.value] * len(tensors[-1][3])
    write_model(a.out, [(b"general.architecture", STRING, a.architecture.encode()),
                        (b"controlvector.model_hint", STRING, b"llama"),
                        (b"controlvector.layer_count", I32, len(tensors))], tensors)


def cmd_host(a):
    """Make a model that writes to its residual stream in every way."""
    numbers = np.random.default_rng(1)
    shapes = [("token_embd.weight", [64, 40], F16), ("blk.0.attn_output.weight", [32, 64], F16),
              ("blk.0.attn_output.bias", [64], F32), ("blk.0.ffn_down_exps.weight", [48, 64, 5], F16),
              ("blk.0.ffn_down_exps.bias", [64, 5], F32), ("blk.0.ffn_up.weight", [64, 48], F16),
              ("blk.1.attn_output.weight", [64, 64], F32), ("blk.1.ffn_down.weight", [4096, 64], F32),
              ("output_norm.weight", [64], F32)]
    write_model(a.out, [(b"general.architecture", STRING, b"llama")],
                [(name.encode(), ne, type_id, list(map(float, numbers.normal(0, 1, np.prod(ne)))))
                 for name, ne, type_id in shapes])


def cmd_golden(_):
    """Print the expected numbers of tests/unit/tensor/test_lora_merge.c."""
    w = np.array([[((7 * i + 3 * j) % 11 - 5) / 4 for j in range(5)] for i in range(6)])
    d = np.array([[i - 2.5 for i in range(6)], [5 * i % 7 - 3 for i in range(6)]])
    for rows, keep in (1, False), (2, False), (1, True), (2, True):
        result = take_out(w, np.linalg.qr(d[:rows].T)[0], False, 0.75, keep)
        print(np.array2string(result.astype(np.float32), separator=", ", precision=9))


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    def command(name, function, names, text):
        sub = commands.add_parser(name, help=text)
        for each in names.split():
            sub.add_argument(each)
        sub.set_defaults(function=function)
        return sub

    sub = command("make", cmd_make, "out", "make a control vector with directions for blocks")
    sub.add_argument("blocks", nargs="+")
    sub.add_argument("--channels", type=int, default=64)
    sub.add_argument("--rows", type=int, default=1)
    sub.add_argument("--seed", type=int, default=0)
    sub.add_argument("--value", type=float, help="all values of the last direction")
    sub.add_argument("--architecture", default="controlvector")
    sub = command("check", cmd_check, "base result", "is that the base without directions?")
    sub.add_argument("vectors", nargs="*", metavar="FILE=SCALE")
    sub = command("same", cmd_same, "one other", "do two models hardly differ?")
    sub.add_argument("--off", type=float, default=1e-5)
    command("host", cmd_host, "out", "make a small model")
    command("golden", cmd_golden, "", "print the golden values of a unit test")
    return parser.parse_args()


def main():
    a = arguments()
    try:
        a.function(a)
    except Wrong as wrong:
        sys.exit(f"ablate.py: {wrong}")
    except (OSError, struct.error, KeyError, ValueError) as error:
        sys.exit(f"ablate.py: {type(error).__name__}: {error}")


if __name__ == "__main__":
    main()

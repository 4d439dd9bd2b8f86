#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""views.py - a second opinion on the files of .views, in NumPy: decoders and purifiers by their
definitions, a few rows at a time. Compares the first rows of a view with values computed here from
its organ file; then prints the microseconds of that, the least of three.

    views.py npy|spectral|fractal ORGAN VIEW ROWS
    views.py memcpy BYTES       microseconds to copy so many bytes that are in memory
"""
import struct
import sys
import time

import numpy as np

F32, F16, Q8_0, Q4_K, Q6_K = 0, 1, 8, 12, 14
BLOCKS = {F32: (1, 4), F16: (1, 2), Q8_0: (32, 34), Q4_K: (256, 144), Q6_K: (256, 210)}
ROWS = 64           # rows at a time, which stay in the caches
NEAR = 1e-5         # of a row's deviation, in addition to the rounding to the view's type
ONE_BIN = 0.05      # of the deviation: the most that another choice of one spectral bin changes


# ---- the values in blocks -----------------------------------------------------------------------

def half(b, at):
    return np.ascontiguousarray(b[:, at:at + 2]).view("<f2").astype("<f4")


def decode_q8_0(b):
    return half(b, 0) * b[:, 2:].view("i1")


def decode_q4_k(b):
    s, q = b[:, 4:16], b[:, 16:].reshape(-1, 4, 32)
    scales = np.concatenate((s[:, :4] & 63, s[:, 8:] & 15 | s[:, :4] >> 6 << 4), 1)
    least = np.concatenate((s[:, 4:8] & 63, s[:, 8:] >> 4 | s[:, 4:8] >> 6 << 4), 1)
    q = np.stack((q & 15, q >> 4), 2).reshape(-1, 8, 32)
    return (half(b, 0) * scales)[:, :, None] * q - (half(b, 2) * least)[:, :, None]


def decode_q6_k(b):
    low, high = b[:, :128].reshape(-1, 2, 64), b[:, 128:192].reshape(-1, 2, 32)
    low = np.concatenate((low & 15, low >> 4), 2)
    high = np.concatenate([high >> shift & 3 for shift in (0, 2, 4, 6)], 2)
    q = (low | high << 4).view("i1").reshape(-1, 16, 16) - np.int8(32)
    return (half(b, 208) * b[:, 192:208].view("i1"))[:, :, None] * q


def decode(kind, data):
    """Decode rows of bytes to float32."""
    rows = len(data)
    if kind in (F32, F16):
        return data.view("<f4" if kind == F32 else "<f2").astype("<f4")
    blocks = data.reshape(-1, BLOCKS[kind][1])
    values = {Q8_0: decode_q8_0, Q4_K: decode_q4_k, Q6_K: decode_q6_k}[kind](blocks)
    return values.reshape(rows, -1)


def rounding(kind, data):
    """The largest encoding error of a value of that type."""
    if kind == Q8_0:
        # Half a step, and 127 times the rounding error of the step as F16.
        steps = half(data.reshape(-1, 34), 0) * (1 / 2 + 127 / 2048)
        return np.repeat(steps, 32, 1).reshape(len(data), -1)
    return np.spacing(np.abs(data.view("<f2"))).astype("<f4") / 2 if kind == F16 else 0.0


# ---- purifiers ----------------------------------------------------------------------------------

def restored(x, y, changed):
    """y with the mean and the deviation of x, in rows that were changed."""
    y = y - y.mean(1, keepdims=True)
    scale = x.std(1, keepdims=True) / y.std(1, keepdims=True)
    return np.where(changed[:, None], y * scale + x.mean(1, keepdims=True), x)


def spectral(x, keep):
    n = x.shape[1]
    bins = np.fft.rfft(x - x.mean(1, keepdims=True))
    bins[:, 0] = 0
    energies = 2 * np.abs(bins[:, 1:]) ** 2
    if n % 2 == 0:
        energies[:, -1] /= 2
    # The higher of two frequencies with equal energies comes first.
    order = np.argsort(energies[:, ::-1], 1, "stable")
    order = energies.shape[1] - 1 - order
    spent = np.cumsum(np.take_along_axis(energies, order, 1), 1)
    gone = np.empty(energies.shape, bool)
    np.put_along_axis(gone, order, spent <= (1 - keep) * spent[:, -1:], 1)
    bins[:, 1:][gone] = 0
    return restored(x, np.fft.irfft(bins, n), gone.any(1))


def fractal(x, strength, ratio=0.125, levels=8):
    n = x.shape[1]
    levels = min(levels, (n - 1).bit_length())
    sums = np.zeros((len(x), 1 << (n - 1).bit_length()))
    sums[:, :n] = x - x.mean(1, keepdims=True)
    residue = 1e-24 * np.sum(sums * sums, 1, keepdims=True)
    details, changed = [], np.zeros(len(x), bool)
    for _ in range(levels):
        details.append((sums[:, 0::2] - sums[:, 1::2]) / np.sqrt(2))
        sums = (sums[:, 0::2] + sums[:, 1::2]) / np.sqrt(2)
    energies = [d * d for d in details]
    for j in reversed(range(levels)):
        support = np.zeros(energies[j].shape)
        if j + 1 < levels:
            support = np.repeat(energies[j + 1], 2, 1)
        if j > 0:
            support = np.maximum(support, (energies[j - 1][:, 0::2] + energies[j - 1][:, 1::2]) / 2)
        bound = ratio * energies[j]
        alone = (support < bound) & (energies[j] > residue)
        part = np.divide(support, bound, np.ones(bound.shape), where=alone)
        detail = details[j] * (1 - strength * (1 - np.sqrt(part)))
        changed |= alone.any(1)
        sums, whole = np.empty((len(x), 2 * sums.shape[1])), sums
        sums[:, 0::2] = (whole + detail) / np.sqrt(2)
        sums[:, 1::2] = (whole - detail) / np.sqrt(2)
    return restored(x, sums[:, :n], changed)


# ---- files --------------------------------------------------------------------------------------

def read_organ(path, rows):
    """Type of an organ file, and the bytes of its first rows."""
    with open(path, "rb") as f:
        f.seek(struct.unpack("<I", f.read(4))[0], 1)
        dims = struct.unpack("<I", f.read(4))[0]
        ne = struct.unpack(f"<{dims}Q", f.read(8 * dims))
        kind = struct.unpack("<I", f.read(4))[0]
        elements, size = BLOCKS[kind]
        length = ne[0] // elements * size
        data = np.frombuffer(f.read(rows * length), np.uint8)
    return kind, data.reshape(rows, length)


def is_same(form, kind, data, view):
    if form == "npy":
        values = np.load(view, mmap_mode="r")[:len(data)].reshape(len(data), -1)
        return values.tobytes() == decode(kind, data).tobytes()
    x = decode(kind, data).astype("<f8")
    made, data = read_organ(view, len(data))
    y = decode(made, data)
    away = np.maximum(np.abs(PURIFIERS[form](x) - y) - 1.001 * rounding(made, data), 0)
    away = np.max(away, 1) / x.std(1)
    # If two bins have nearly the same energy, either can be the last one of the budget.
    other = np.mean(away > NEAR) if form == "spectral" else 0
    return np.all(away <= (ONE_BIN if other else NEAR)) and other < 0.02


PURIFIERS = {"spectral": lambda x: spectral(x, 0.99), "fractal": lambda x: fractal(x, 0.375)}


def make(form, kind, data):
    values = decode(kind, data)
    return values if form == "npy" else PURIFIERS[form](values)


def least_of_three(function):
    times = []
    for _ in range(3):
        start = time.perf_counter()
        function()
        times.append(time.perf_counter() - start)
    return round(min(times) * 1e6)


def main():
    if sys.argv[1] == "memcpy":
        source = np.ones(int(sys.argv[2]), np.uint8)
        target = np.ones_like(source)
        print(least_of_three(lambda: np.copyto(target, source)))
        return
    form, organ, view, rows = *sys.argv[1:4], int(sys.argv[4])
    kind, data = read_organ(organ, rows)
    parts = [data[at:at + ROWS] for at in range(0, rows, ROWS)]
    if not is_same(form, kind, data, view):
        sys.exit(f"views.py: {form} of {organ} has other values")
    print(least_of_three(lambda: [make(form, kind, part) for part in parts]))


if __name__ == "__main__":
    main()

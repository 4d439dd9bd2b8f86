#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""merge_numpy.py - merges of merge.c in NumPy by mergekit's formulas: a base and two models in F16
become float32, are merged and become F16 again.

    merge_numpy.py make COLUMNS ROWS BASE MODEL MODEL       write random weights to files
    merge_numpy.py check COLUMNS ROWS BASE MODEL MODEL RESULT-PREFIX

"check" prints a line for each method: its name, and its microseconds, the least of three runs. It
fails if the rows of merge.c differ. The time of dare_ties does not include its random numbers,
which are this project's own.
"""
import sys
import time

import numpy as np

ROWS = 64  # rows at a time for methods that work by rows: they stay in the caches


def by_rows(function):
    """A merge of whole tensors from a function of some rows and the index of the first one."""
    def merge(base, models):
        return np.concatenate([
            function(base[at:at + ROWS], [m[at:at + ROWS] for m in models], at)
            for at in range(0, len(base), ROWS)])
    return merge


def floats(values):
    return values.astype("<f4")


def linear(_, models, __):
    return ((floats(models[0]) * 0.5 + floats(models[1]) * 0.5) / 1.0).astype("<f2")


def slerp(_, models):
    a, b = (floats(m).ravel() for m in models)
    # np.dot() of long float32 vectors is off by parts of a thousand if a BLAS sums in order.
    ab, aa, bb = ((x * y).sum(dtype=np.float64) for x, y in ((a, b), (a, a), (b, b)))
    cosine = ab / np.sqrt(aa * bb)
    s = t = np.float32(0.5)
    if abs(cosine) <= 0.9995:
        angle = np.arccos(cosine)
        s = t = np.float32(np.sin(0.5 * angle) / np.sin(angle))
    return (s * a + t * b).astype("<f2").reshape(models[0].shape)


def elected(deltas, divide):
    total = sum(deltas)
    sign = np.where(total >= 0, np.float32(1), np.float32(-1))
    agree = [d * sign > 0 for d in deltas]
    total = sum(np.where(x, d, np.float32(0)) for x, d in zip(agree, deltas))
    if not divide:
        return total
    weights = sum(np.float32(0.5) * x for x in agree)
    return total / np.where(weights == 0, np.float32(1), weights)


def ties(base, models):
    base, deltas = floats(base), []
    for model in models:
        delta = (floats(model) - base).ravel()
        size = np.abs(delta)
        kept = delta.size // 2
        cut = np.partition(size, delta.size - kept)[delta.size - kept]
        # The last ones of equal values at the cut are kept.
        keep = size > cut
        equal = np.flatnonzero(size == cut)
        keep[equal[len(equal) - (kept - np.count_nonzero(keep)):]] = True
        deltas.append(np.where(keep, np.float32(0.5) * delta, np.float32(0)).reshape(base.shape))
    return (base + elected(deltas, True)).astype("<f2")


def random(n, seed):
    """The upper 24 bits of XXH64 of 0 to n - 1 (eight little-endian bytes each), in [0, 1)."""
    one, two, three, four, five = (np.uint64(x) for x in (
        0x9E3779B185EBCA87, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9, 0x85EBCA77C2B2AE63,
        0x27D4EB2F165667C5))

    def turned(x, by):
        return x << np.uint64(by) | x >> np.uint64(64 - by)

    with np.errstate(over="ignore"):
        x = np.uint64(seed) + five + np.uint64(8)
        x = x ^ turned(np.arange(n, dtype=np.uint64) * two, 31) * one
        x = turned(x, 27) * one + four
        x = (x ^ x >> np.uint64(33)) * two
        x = (x ^ x >> np.uint64(29)) * three
        x ^= x >> np.uint64(32)
    return (x >> np.uint64(40)).astype(np.float32) / np.float32(1 << 24)


def dare_ties(kept):
    def merge(base, models):
        base, deltas = floats(base), []
        for model, keep in zip(models, kept):
            delta = floats(model) - base
            all_of_it = np.abs(delta).sum(dtype=np.float64)
            delta *= keep
            factor = 0.5 * all_of_it / np.abs(delta).sum(dtype=np.float64)
            deltas.append(delta * np.float32(factor))
        return (base + elected(deltas, False)).astype("<f2")
    return merge


def make(columns, rows, paths):
    numbers = np.random.default_rng(1)
    base = numbers.standard_normal((rows, columns)) * 0.02
    for i, path in enumerate(paths):
        values = base + numbers.standard_normal(base.shape) * 0.002 if i else base
        values.astype("<f2").tofile(path)


def check(columns, rows, paths, prefix):
    base, *models = (np.fromfile(path, "<f2").reshape(rows, columns) for path in paths)
    kept = [random(base.size, seed).reshape(base.shape) < 0.5 for seed in (1, 2)]
    for name, merge in (("linear", by_rows(linear)), ("slerp", slerp), ("ties", ties),
                        ("dare_ties", dare_ties(kept))):
        times = []
        for _ in range(3):
            start = time.perf_counter()
            result = merge(base, models)
            times.append(time.perf_counter() - start)
        made = np.fromfile(prefix + name, "<f2").reshape(rows, columns)
        # Results may differ by one step of F16.
        away = np.abs(floats(made) - floats(result))
        if np.any(away > np.spacing(np.abs(result)).astype("<f4")) or np.mean(away > 0) > 0.01:
            sys.exit(f"merge_numpy.py: {name} has other values")
        print(name, round(min(times) * 1e6))


def main():
    columns, rows, paths = int(sys.argv[2]), int(sys.argv[3]), sys.argv[4:7]
    if sys.argv[1] == "make":
        make(columns, rows, paths)
    else:
        check(columns, rows, paths, sys.argv[7])


if __name__ == "__main__":
    main()

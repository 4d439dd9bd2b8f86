#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""merge_formulas.py - methods of mergekit (arcee-ai/mergekit, mergekit/merge_methods, as of 2026)
in NumPy, on whole tensors, in mergekit's order of operations.

    merge_formulas.py values    writes the third tensor of tests/unit/golden_merge.f32
    merge_formulas.py golden    writes its lines in tests/unit/golden_merge.tsv

Vectors are float64, made from float32 values. The formulas compare magnitudes in float32 where
mergekit does; equal ones stand in the order of their numbers."""

import sys

import numpy as np


def nearswap(base, vectors, t):
    a, b = base, vectors[0]
    weight = np.clip(t / np.maximum(np.abs(a - b), 1e-6), 0, 1)
    return weight * b + (1 - weight) * a


def ram(base, vectors, epsilon=1e-5, r=0, alpha=0.2):
    """ramplus_tl if r is given, else ram."""
    tv = np.stack(vectors) - base
    nonzero = np.abs(tv).astype("f4") > np.float32(epsilon)
    counts = nonzero.sum(axis=0)
    overlap, unique = counts > 1, counts == 1
    alone = np.maximum((nonzero & unique).sum(axis=1), epsilon)
    rho = (nonzero & overlap).sum(axis=1) / np.where(alone == 0, 1, alone)
    factor = 1 + r * np.minimum(np.maximum(rho, 0), alpha)
    tv = tv * nonzero
    return base + (tv * unique * factor[:, None] + tv * overlap / np.maximum(counts, 1)).sum(axis=0)


def multislerp(base, vectors, weights, normalize_weights=True, eps=1e-8):
    """multislerp; base is None, or the tensor to subtract. Nearly opposite vectors have no mean
    direction; mergekit draws that line at eps, in float32."""
    if len(vectors) == 1:
        return vectors[0]
    x = np.stack(vectors) - (0 if base is None else base)
    w = np.array(weights, float)
    if normalize_weights:
        w = w / w.sum()
    norms = np.linalg.norm(x, axis=1)
    units = x / (norms[:, None] + eps)
    mean = (units * w[:, None]).sum(axis=0)
    if np.linalg.norm(mean) < max(eps, 1e-6):
        result = (x * w[:, None]).sum(axis=0)
        return result if base is None else result + base
    mean = mean / np.linalg.norm(mean)
    dots = (units * mean).sum(axis=1)
    tangents = units - dots[:, None] * mean
    tangent = (tangents * w[:, None]).sum(axis=0)
    length = np.linalg.norm(tangent) + eps
    result = mean * np.cos(length) + tangent * (np.sin(length) / length)
    result = result * (norms * w).sum()
    return result if base is None else result + base


def karcher(vectors, max_iter=10, tol=1e-5):
    """A vector opposite to the mean has no direction from there: mergekit divides by a sine that
    is only rounding."""
    if len(vectors) == 1:
        return vectors[0]
    norms = [np.linalg.norm(v) for v in vectors]
    units = [v / n for v, n in zip(vectors, norms) if n > tol]
    if not units:
        return np.zeros_like(vectors[0])
    share = 1 / len(units)
    u = sum(share * v for v in units)
    u = units[0] if np.linalg.norm(u) < max(tol, 1e-6) else u / np.linalg.norm(u)
    for _ in range(int(max_iter)):
        step = np.zeros_like(u)
        for v in units:
            dot = np.clip(u @ v, -1, 1)
            theta = np.arccos(dot)
            if theta >= tol and np.sin(theta) >= 1e-6:
                step += share * (theta / np.sin(theta)) * (v - dot * u)
        length = np.linalg.norm(step)
        if length < tol or length == 0:
            break
        u = np.cos(length) * u + np.sin(length) * (step / length)
        if np.linalg.norm(u) > tol:
            u = u / np.linalg.norm(u)
    return sum(n / len(vectors) for n in norms) * u


def sce(base, vectors, select_topk=1):
    tv = np.stack(vectors) - base
    if select_topk < 1:
        variance = np.var(tv, axis=0).astype("f4")
        k = int(np.count_nonzero(variance) * select_topk)
        mask = np.zeros(base.size)
        mask[np.argsort(variance, kind="stable")[base.size - k:]] = 1
        tv = tv * mask
    agrees = np.sign(tv) == np.where(tv.sum(axis=0) >= 0, 1, -1)
    weights = np.mean(tv ** 2, axis=1)
    weights = weights / weights.sum() if weights.sum() >= 1e-6 else np.full(len(tv), 1 / len(tv))
    weights = weights[:, None] * agrees
    return base + (tv * weights).sum(axis=0) / np.maximum(weights.sum(axis=0), 1e-6)


def softmax(rows):
    e = np.exp(rows - rows.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def arcee_fusion(base, vectors, rows):
    """mergekit takes the quantiles of larger tensors from a sample of a million values."""
    b, x = base.reshape(max(rows, 1), -1), vectors[0].reshape(max(rows, 1), -1)
    p, q = softmax(x) + 1e-8, softmax(b) + 1e-8
    divergence = (p * np.log(p / q)).sum(axis=1, keepdims=True)
    importance = (np.abs(x - b) * divergence).astype("f4").ravel()
    first, median, third = [np.sort(importance)[int(q * (base.size - 1))].astype(float)
                            for q in (0.25, 0.5, 0.75)]
    return base + (vectors[0] - base) * (importance >= median + 1.5 * (third - first))


ROWS, COLUMNS = 8, 32
METHODS = {
    "nearswap": lambda b, x: nearswap(b, x[:1], 0.003),
    "ram": lambda b, x: ram(b, x, 0.003),
    "ramplus_tl": lambda b, x: ram(b, x, 0.003, 0.6, 0.7),
    "multislerp": lambda b, x: multislerp(None, x, [0.6, 0.3]),
    "multislerp_base": lambda b, x: multislerp(b, x, [0.6, 0.3]),
    "karcher": lambda b, x: karcher(x),
    "sce": lambda b, x: sce(b, x, 0.6),
    "arcee_fusion": lambda b, x: arcee_fusion(b, x[:1], ROWS),
}


def values():
    """Make a base and two models that each change half of it, many elements by the same amount."""
    random = np.random.default_rng(7)
    base = random.normal(0, 1, ROWS * COLUMNS)
    changes = np.round(random.normal(0, 20, (2, base.size))) / 1024
    return np.stack([base, *(base + changes * (random.random(changes.shape) < 0.5))]).astype("<f4")


def golden():
    base, *vectors = values().astype(float)
    for method, merge in METHODS.items():
        result = merge(base, vectors)
        for i in np.unique(np.linspace(0, base.size - 1, 48).astype(int)):
            print(f"{method}\tmade.weight\t{i}\t{result[i]:.9g}")
        print(f"{method}\tmade.weight\tsum\t{result.sum():.12g}")
        print(f"{method}\tmade.weight\tl2\t{np.linalg.norm(result):.12g}")


if __name__ == "__main__":
    if sys.argv[1:] == ["values"]:
        sys.stdout.buffer.write(values().tobytes())
    elif sys.argv[1:] == ["golden"]:
        golden()
    else:
        raise SystemExit(__doc__)

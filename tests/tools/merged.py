#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""merged.py - compare a merge in a mount with the method's formula in NumPy.

    merged.py MOUNT DIRECTORY METHOD

Compares some tensors of the model mounted at MOUNT, merged by METHOD with the settings of
mount/merge/methods.sh. DIRECTORY/base and DIRECTORY/donor have the .views/npy files of these
tensors from mounts of the two models."""

import sys

import numpy as np

TENSORS = ["skeleton/blk_0_attn_q", "organs/blk_3_ffn_down", "norm/blk_5_attn_norm"]


def trimmed(d, density, gamma=0):
    """Drop the int(gamma n) largest by magnitude, and keep the int(density n) largest of the rest;
    equal ones stand in the order of their numbers."""
    order = np.argsort(np.abs(d).astype(np.float32), kind="stable")
    end = d.size - int(gamma * d.size)
    kept = order[end - int(density * d.size):end]
    result = np.zeros_like(d)
    result[kept] = d[kept]
    return result


def slerp(t, a, b):
    dot = (a / np.linalg.norm(a)) @ (b / np.linalg.norm(b))
    if abs(dot) > 0.9995:
        return (1 - t) * a + t * b
    angle = np.arccos(dot)
    return (np.sin((1 - t) * angle) * a + np.sin(t * angle) * b) / np.sin(angle)


def expected(method, name, base, donor):
    d = donor - base
    block = int(name.split("_")[1])
    if method == "task_arithmetic":
        return base + 0.9 * 0.5 * d
    if method == "slerp":
        return slerp(0.2 + 0.6 * block / 5, base, donor)
    if method == "ties":
        # All signs of one model agree, and the weight cancels.
        return base + trimmed(d, 0.4)
    if method == "breadcrumbs":
        return base + trimmed(d, 0.8, 0.05)
    raise SystemExit("no formula for " + method)


def check_dare(base, donor, merged):
    """Check that about half of the differences are kept, scaled alike."""
    d, m = donor - base, merged - base
    kept = np.abs(m) > 1e-4 * np.abs(d).max()
    share = kept[np.abs(d) > 1e-2 * np.abs(d).max()].mean()
    factor = np.median(m[kept] / d[kept])
    assert d.size < 1000 or 0.45 < share < 0.55, share
    assert d.size < 1000 or 1.8 < factor < 2.2, factor


def load(path):
    return np.load(path + ".npy").astype(np.float64).ravel()


def main():
    mount, directory, method = sys.argv[1:]
    for name in TENSORS:
        merged = load(f"{mount}/.views/npy/{name}")
        base = load(f"{directory}/base/{name}")
        donor = load(f"{directory}/donor/{name}")
        if method == "dare_linear":
            check_dare(base, donor, merged)
            continue
        wanted = expected(method, name, base, donor)
        off = np.abs(merged - wanted) / np.maximum(1e-3, np.abs(wanted))
        if off.max() > 2e-6:
            raise SystemExit(f"{method} of {name}: {off.max():.2g} off at {off.argmax()}")


if __name__ == "__main__":
    main()

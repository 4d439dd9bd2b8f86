#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""zmeasure.py - a second opinion on the Z-measure, in NumPy: sampling, entropy, kurtosis, spacing,
signal, theta and magnitude as they are defined, with none of the C code's ways around sorting.
The tables tests/unit/theta-*.tsv were made with it.

    zmeasure.py FILE...     raw little-endian float32: one line of figures for each
    zmeasure.py time N...   seconds to measure random tensors of N values, one after the other
"""
import math
import sys
import time

import numpy as np

# ---- as published -------------------------------------------------------
N_MAX = 100_000
H_SIG_LO, H_SIG_HI = 0.30, 0.70
H_NOISE = 0.95
K_SIG = 3.0
CV_SIG, CV_NOISE = 1.0, 0.5

# ---- chosen here --------------------------------------------------------
SPAN = 256                 # elements per contiguous span (multiple of every ggml block)
M_SPANS = 390              # 390 * 256 = 99,840 <= N_MAX
GOLD32 = 2654435769        # floor(2^32 / phi), Weyl jitter
TRIM = 0.001               # quantile range [TRIM, 1-TRIM] for histogram and spacings
BINS = 64                  # histogram bins
SPACINGS = 64              # number of quantile spacings
GAP = 1.0 / 8.0            # ties are smoothed over gaps up to GAP * range (8 levels = 3 bits)
K_NEAR0 = 1.0 / 3.0        # "near zero" kurtosis: 10% point
K_FLAT = -1.2              # excess kurtosis of the uniform law
P_COMB = 2.0               # power-mean exponent (2 = RMS)
LN9 = math.log(9.0)
# |Z|
Z_LEVELS, Z_MINCOEF, E_FLOOR = 8, 64, 1e-12


# ---- sampling ---------------------------------------------------------
def span_starts(n):
    """Element offsets and lengths of the sampled spans of an n-element tensor."""
    if n <= N_MAX:
        return [(0, n)]
    T = -(-n // SPAN)
    out, prev = [], -1
    for i in range(M_SPANS):
        r = (i * GOLD32) & 0xFFFFFFFF
        t = ((i << 32) + r) * T // (M_SPANS << 32)      # 128-bit in C
        if t <= prev:
            t = prev + 1
        prev = t
        out.append((t * SPAN, min(SPAN, n - t * SPAN)))
    return out


def sample(flat):
    """1-D float array -> list of spans (float64)."""
    flat = np.asarray(flat).ravel()
    return [flat[o:o + l].astype(np.float64) for o, l in span_starts(flat.size)]


# ---- the mid-distribution (Parzen), gap-limited -----------------------
def mid_knots(xs):
    """sorted sample -> (lo, hi, V, F): piecewise-linear distribution function.

    A value tied c times carries half its mass to either side, spread linearly up
    to the neighbouring distinct value, but never further than GAP*range/2: a
    quantisation grid of 8 levels or more is smoothed away, an isolated atom is not."""
    n = xs.size
    t = int(math.floor(TRIM * (n - 1)))
    lo, hi = xs[t], xs[n - 1 - t]
    v, c = np.unique(xs, return_counts=True)
    C = np.cumsum(c)
    g = GAP * (hi - lo)
    V, F = [v[0]], [0.5 * c[0] / n]
    wide = (v[1:] - v[:-1]) > g
    if not wide.any():
        return lo, hi, v, (C - 0.5 * c) / n
    for j in range(1, v.size):
        if wide[j - 1]:
            V += [v[j - 1] + 0.5 * g, v[j] - 0.5 * g]
            F += [C[j - 1] / n, C[j - 1] / n]
        V.append(v[j])
        F.append((C[j] - 0.5 * c[j]) / n)
    return lo, hi, np.array(V), np.array(F)


def mid_quantile(V, F, p):
    """smallest x with F(x) >= p, linear inside a segment, clamped at both ends."""
    out = np.empty(len(p))
    for i, q in enumerate(p):
        k = int(np.searchsorted(F, q, side="left"))
        if k == 0:
            out[i] = V[0]
        elif k == F.size:
            out[i] = V[-1]
        else:
            out[i] = V[k - 1] + (V[k] - V[k - 1]) * (q - F[k - 1]) / (F[k] - F[k - 1])
    return out


def logistic_1090(x, x10, x90):
    a = -LN9 * (2.0 * x - x10 - x90) / (x90 - x10)
    if a > 700.0:
        return 0.0
    return 1.0 / (1.0 + math.exp(a))


def score_entropy(H):
    up = logistic_1090(H, H_NOISE, H_SIG_HI)                    # .95 -> 10%, .70 -> 90%
    lo = logistic_1090(H, H_SIG_LO - (H_NOISE - H_SIG_HI), H_SIG_LO)  # .05 -> 10%, .30 -> 90%
    return up * lo / H_PLATEAU


H_PLATEAU = (logistic_1090(0.5, H_NOISE, H_SIG_HI) *
             logistic_1090(0.5, H_SIG_LO - (H_NOISE - H_SIG_HI), H_SIG_LO))


def score_kurtosis(k):
    if k >= 0.0:
        e = k
    elif k >= K_FLAT:
        e = 0.0
    else:                                # flatter than uniform: towards two-point (-2)
        e = K_SIG * (K_FLAT - k) / (K_FLAT + 2.0)
    if e <= 0.0:
        return 0.0
    return logistic_1090(math.log(e), math.log(K_NEAR0), math.log(K_SIG))


def score_cv(cv):
    if cv <= 0.0:
        return 0.0
    return logistic_1090(math.log(cv), math.log(CV_NOISE), math.log(CV_SIG))


def combine(sH, sK, sC, p=None):
    p = P_COMB if p is None else p
    return ((sH ** p + sK ** p + sC ** p) / 3.0) ** (1.0 / p)


def theta_deg(S):
    return math.degrees(math.acos(math.sqrt(max(0.0, 1.0 - S * S))))


# ---- dI/d(log s) ------------------------------------------------------
def dI_dlogs(spans):
    """I(s) = 0.5 ln E(s): E(s) = mean energy of the orthonormal Haar approximation
    at scale s = 2^j, after removing the sample mean.  Least-squares slope of I
    on ln s; 0 for uncorrelated data whatever its law, +1/2 for a pattern that
    persists over all scales, clipped to [-1/2, 1/2].  None when fewer than two
    levels have Z_MINCOEF coefficients."""
    x = np.concatenate(spans)
    ok = np.isfinite(x)
    mu = x[ok].mean()
    lv = []
    for s in spans:
        d = np.where(np.isfinite(s), s, mu) - mu
        for o in range(0, d.size, SPAN):          # a short tensor is one long span
            lv.append(d[o:o + SPAN])
    xs, ys, e0 = [], [], None
    for j in range(Z_LEVELS + 1):
        cnt = sum(a.size for a in lv)
        if cnt < Z_MINCOEF:
            break
        e = sum(float((a * a).sum()) for a in lv) / cnt
        if j == 0:
            e0 = e
            if e0 <= 0.0:
                return None
        xs.append(j * math.log(2.0))
        ys.append(0.5 * math.log(max(e, E_FLOOR * e0)))
        lv = [(a[0:a.size // 2 * 2:2] + a[1:a.size // 2 * 2:2]) * math.sqrt(0.5) for a in lv]
    if len(xs) < 2:
        return None
    xs, ys = np.array(xs), np.array(ys)
    xb = xs - xs.mean()
    g = float((xb * ys).sum() / (xb * xb).sum())
    return min(0.5, max(-0.5, g))


# ---- the measure ------------------------------------------------------
def zmeasure(flat):
    flat = np.asarray(flat).ravel()
    spans = sample(flat)
    x = np.concatenate(spans)
    fin = np.isfinite(x)
    bad = int(x.size - fin.sum())
    x = x[fin] + 0.0
    r = dict(n=int(flat.size), sampled=int(x.size + bad), nonfinite=bad, entropy=0.0,
             kurtosis=0.0, cv=0.0, s_entropy=0.0, s_kurtosis=0.0, s_cv=0.0,
             signal=0.0, theta=0.0, dI_dlogs=None, status="ok")
    if x.size == 0:
        r.update(status="nonfinite", theta=float("nan"), signal=float("nan"))
        return r
    if x.size < 8 or x.min() == x.max():
        r["status"] = ("short" if x.min() != x.max() else
                       "zero" if x[0] == 0.0 else "constant")
        return r
    # central moments, two passes
    mu = x.mean()
    d = x - mu
    m2 = (d * d).mean()
    k = (d ** 4).mean() / (m2 * m2) - 3.0
    lo, hi, V, F = mid_knots(np.sort(x))
    K = SPACINGS
    if hi <= lo:      # more than 1-2*TRIM of the sample tied on one value
        sK = score_kurtosis(k)
        S = combine(0.0, sK, 0.0)
        r.update(kurtosis=k, s_kurtosis=sK, status="spike", signal=S, theta=theta_deg(S),
                 dI_dlogs=dI_dlogs(spans))
        return r
    q = mid_quantile(V, F, TRIM + (1.0 - 2.0 * TRIM) * np.arange(K + 1) / K)
    D = np.diff(q)
    mean = D.mean()
    cv2 = ((D - mean) ** 2).mean() / (mean * mean)
    cv2 = (1.0 + cv2) / (1.0 + K / x.size) - 1.0        # sampling noise of m-spacings
    cv = math.sqrt(max(0.0, cv2))
    # histogram of F over BINS equal bins of [lo, hi]; outside mass goes to the end bins
    e = np.interp(lo + (hi - lo) * np.arange(1, BINS) / BINS, V, F)
    w = np.diff(np.concatenate(([0.0], e, [1.0])))
    w = w[w > 0]
    H = float(-(w * np.log(w)).sum() / math.log(BINS))
    sH, sK, sC = score_entropy(H), score_kurtosis(k), score_cv(cv)
    S = combine(sH, sK, sC)
    r.update(entropy=H, kurtosis=float(k), cv=cv, s_entropy=sH, s_kurtosis=sK, s_cv=sC,
             signal=S, theta=theta_deg(S))
    r["dI_dlogs"] = dI_dlogs(spans)
    return r


def show(value):
    return "null" if value is None else f"{value:.9f}"


def main():
    if sys.argv[1:2] == ["time"]:
        random = np.random.default_rng(1)
        tensors = {n: random.normal(size=n).astype(np.float32) for n in set(sys.argv[2:])
                   for n in [int(n)]}
        start = time.perf_counter()
        for n in sys.argv[2:]:
            zmeasure(tensors[int(n)])
        print(time.perf_counter() - start)
        return
    print("\t".join("tensor n sampled status entropy kurtosis cv signal theta dI".split()))
    for path in sys.argv[1:]:
        r = zmeasure(np.fromfile(path, dtype="<f4"))
        figures = (r[k] for k in ("entropy", "kurtosis", "cv", "signal", "theta", "dI_dlogs"))
        print("\t".join([path, str(r["n"]), str(r["sampled"]), r["status"], *map(show, figures)]))


if __name__ == "__main__":
    main()

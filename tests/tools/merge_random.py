#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""merge_random.py - merges of small tensors with random parameters, compared with NumPy.

    merge_random.py models DIRECTORY    write base.gguf, one.gguf and other.gguf
    merge_random.py check MOUNT         merge in a mount of base.gguf; run this beside the models

The formulas are those of mergekit, as in measure/merge.h. SEED in the environment seeds the
numbers, TIMES is the number of runs of each method."""

import json
import os
import sys

import numpy as np

import gguf
import merge_formulas

BLOCKS = 3
# Rows (0 for a vector), columns, class, and the name at Hugging Face.
SHAPES = {"attn_q": (1, 1, "skeleton", "self_attn.q_proj"),
          "attn_v": (7, 3, "skeleton", "self_attn.v_proj"),
          "ffn_up": (300, 64, "organs", "mlp.up_proj"),
          "ffn_down": (64, 300, "organs", "mlp.down_proj"),
          "attn_norm": (0, 70, "norm", "input_layernorm")}
OUTSIDE = {"token_embd": (7, 3, "embed", "model.embed_tokens"),
           "output_norm": (0, 64, "embed", "model.norm")}
METHODS = ("linear", "slerp", "nuslerp", "model_stock", "task_arithmetic", "ties", "dare_linear",
           "dare_ties", "della", "della_linear", "breadcrumbs", "breadcrumbs_ties", "nearswap",
           "ram", "ramplus_tl", "multislerp", "karcher", "sce", "arcee_fusion")
random = np.random.default_rng(int(os.environ.get("SEED", 1)))


def tensors():
    """Name, block or None, rows, columns, place in the tree and other name of each tensor."""
    for stem, (rows, columns, place, other) in OUTSIDE.items():
        yield f"{stem}.weight", None, rows, columns, f"{place}/{stem}", f"{other}.weight"
    for block in range(BLOCKS):
        for stem, (rows, columns, place, other) in SHAPES.items():
            yield (f"blk.{block}.{stem}.weight", block, rows, columns,
                   f"{place}/blk_{block}_{stem}", f"model.layers.{block}.{other}.weight")


def data(name, rows, columns, earlier):
    """Values: some tensors have many equal magnitudes, one is all zeros, one equals the base's."""
    n = max(rows, 1) * columns
    values = random.normal(0, 0.5, n)
    if earlier:
        values += earlier[0][name]
    if "blk.1.ffn_up" in name and len(earlier) == 1:
        values[:] = 0
    if "blk.2.ffn_up" in name and len(earlier) == 1:
        values = earlier[0][name]
    if "ffn_down" in name:
        values = np.round(values * 8) / 8
    return values.astype("<f4")


def write_models(directory):
    models = []
    for file in ("base", "one", "other"):
        w, at, model = gguf.Writer(), 0, {}
        w.begin(len(list(tensors())), 2)
        w.entry(b"general.architecture", gguf.STRING, b"llama")
        w.entry(b"llama.block_count", gguf.U32, BLOCKS)
        for name, _, rows, columns, _, _ in tensors():
            w.info(name.encode(), [columns, rows] if rows else [columns], gguf.F32, at)
            model[name] = data(name, rows, columns, models)
            at = gguf.align_up(at + model[name].nbytes, 32)
        w.pad(32)
        with open(f"{directory}/{file}.gguf", "wb") as f:
            f.write(w.out)
            for values in model.values():
                f.write(values.tobytes().ljust(gguf.align_up(values.nbytes, 32), b"\0"))
        np.savez(f"{directory}/{file}.npz", **model)
        models.append(model)


# Parameters: random choice, and look-up.

def numbers(low, high):
    """A number of many digits: times a tensor's size it is a whole number only by rounding."""
    if random.random() < 0.5:
        return round(float(random.uniform(low, high)), 9)
    return [round(float(x), 9) for x in random.uniform(low, high, random.integers(2, 5))]


def parameter(low, high):
    if random.random() < 0.6:
        return numbers(low, high)
    filters = ["mlp", "attn_norm", "blk.1.", "model.norm", "ffn_up", "q_proj"]
    chosen = [{"filter": str(f), "value": numbers(low, high)}
              for f in random.permutation(filters)[:2]]
    return chosen + [{"value": numbers(low, high)}]


def at_block(value, block):
    if not isinstance(value, list):
        return float(value)
    at = 0 if block is None else block / (BLOCKS - 1) * (len(value) - 1)
    return float(np.interp(at, np.arange(len(value)), value))


class Settings:
    """Settings that apply to one tensor."""

    def __init__(self, config, name, block, other):
        self.config, self.names, self.block = config, (name, other), block

    def find(self, value):
        if not isinstance(value, list) or not isinstance(value[0], dict):
            return at_block(value, self.block)
        return next(at_block(v["value"], self.block) for v in value
                    if any(v.get("filter", "") in n for n in self.names))

    def get(self, key, default=None, model=None):
        for parameters in (model or {}).get("parameters", {}), self.config["parameters"]:
            if key in parameters:
                return self.find(parameters[key])
        return default


# Formulas. Vectors are float64.

def arc(t, a, b):
    unit_a, unit_b = a / max(np.linalg.norm(a), 1e-7), b / max(np.linalg.norm(b), 1e-7)
    angle = np.arccos(np.clip(unit_a @ unit_b, -1, 1))
    if abs(np.sin(angle)) < 1e-6:
        return (1 - t) * a + t * b
    return (np.sin((1 - t) * angle) * a + np.sin(t * angle) * b) / np.sin(angle)


def slerp(t, a, b):
    norms = [n if n > 1e-8 else 1 for n in (np.linalg.norm(a), np.linalg.norm(b))]
    if abs(a @ b / norms[0] / norms[1]) > 0.9995:
        return (1 - t) * a + t * b
    angle = np.arccos(a @ b / norms[0] / norms[1])
    return (np.sin((1 - t) * angle) * a + np.sin(t * angle) * b) / np.sin(angle)


def nuslerp(s, weights, vectors, base, rows):
    t = 0.5 if abs(sum(weights)) < 1e-6 else weights[1] / sum(weights)
    a, b = [(v - base).reshape(max(rows, 1), -1) for v in vectors]
    if s.get("nuslerp_flatten", 1):
        return base + arc(t, a.ravel(), b.ravel())
    if rows > 1 and s.get("nuslerp_row_wise", 0):
        return base + np.array([arc(t, *pair) for pair in zip(a.T, b.T)]).T.ravel()
    return base + np.concatenate([arc(t, *pair) for pair in zip(a, b)])


def model_stock(base, vectors, rows=1):
    """None if the differences are opposite: the formula divides by zero or by a rounding."""
    if rows > 1:
        parts = [model_stock(b, v) for b, *v in zip(*(t.reshape(rows, -1)
                                                      for t in (base, *vectors)))]
        return None if any(p is None for p in parts) else np.concatenate(parts)
    a, b = [v - base for v in vectors]
    cosine = np.clip(a @ b / max(np.linalg.norm(a) * np.linalg.norm(b), 1e-6), -1, 1)
    if cosine < -1 + 1e-9:
        return None
    return base + 2 * cosine / (1 + cosine) * (a + b) / 2


MASK = (1 << 64) - 1
P = [11400714785074694791, 14029467366897019727, 1609587929392839161, 9650029242287828579,
     2870177450012600261]


def turn(x, by):
    return (x << by | x >> 64 - by) & MASK


def xxh64(text, seed):
    """XXH64 of less than 32 bytes."""
    h = seed + P[4] + len(text) & MASK
    while len(text) >= 8:
        lane = turn(int.from_bytes(text[:8], "little") * P[1] & MASK, 31) * P[0] & MASK
        h = turn(h ^ lane, 27) * P[0] + P[3] & MASK
        text = text[8:]
    if len(text) >= 4:
        lane = int.from_bytes(text[:4], "little") * P[0] & MASK
        h = turn(h ^ lane, 23) * P[1] + P[2] & MASK
        text = text[4:]
    for byte in text:
        h = turn(h ^ byte * P[4] & MASK, 11) * P[0] & MASK
    h = (h ^ h >> 33) * P[1] & MASK
    h = (h ^ h >> 29) * P[2] & MASK
    return h ^ h >> 32


def chances(name, place, n):
    seed = xxh64(name.encode(), 42 + place)
    return np.array([(xxh64(e.to_bytes(8, "little"), seed) >> 40) / (1 << 24) for e in range(n)])


def by_magnitude(d):
    return np.argsort(np.abs(d).astype("f4"), axis=-1, kind="stable")


def kept(method, s, model, name, place, d, columns):
    """Mask of the differences: 1 kept, 0 dropped."""
    density, n, keep = s.get("density", 1, model), d.size, np.zeros(d.size)
    if method == "task_arithmetic" or density >= 1:
        return np.ones(n)
    if method == "ties" or method.startswith("breadcrumbs"):
        largest = 0 if method == "ties" else int(s.get("gamma", 0.01, model) * n)
        largest = min(largest, n - int(density * n))
        keep[by_magnitude(d)[n - largest - int(density * n):n - largest]] = 1
        return keep
    limit = density
    if method.startswith("della"):
        epsilon = s.get("epsilon", 0.15, model)
        ranks = np.argsort(by_magnitude(d.reshape(-1, columns)), axis=-1)
        limit = (density - epsilon + ranks / max(columns - 1, 1) * 2 * epsilon).ravel()
    return (chances(name, place, n) < limit).astype(float)


def task(method, s, models, name, base, vectors, columns):
    weights = np.array([s.get("weight", None, m) for m in models])
    sums = []
    for place, (model, weight, vector) in enumerate(zip(models, weights, vectors)):
        d = vector - base
        left = d * kept(method, s, model, name, place, d, columns)
        before, after = np.abs(d).sum(), np.abs(left).sum()
        rescaled = s.get("rescale", method.startswith("da") or method.startswith("de"))
        factor = before / after if rescaled and before >= 1e-7 and after >= 1e-7 else 1
        sums.append(weight * left * factor)
    divisor = weights.sum() if abs(weights.sum()) >= 1e-8 else 1
    mixed = sum(sums)
    if method in ("ties", "dare_ties", "della", "breadcrumbs_ties"):
        signs = np.where(mixed >= 0, 1, -1)
        agree = [np.sign(v) == signs for v in sums]
        mixed = sum(v * a for v, a in zip(sums, agree))
        divisor = sum(w * a for w, a in zip(weights, agree))
        divisor = np.where(divisor == 0, 1, divisor)
    if s.get("normalize", method in ("ties", "della")):
        mixed = mixed / divisor
    return base + s.get("lambda", 1) * mixed


def expected(config, tensor, files):
    name, block, rows, columns, _, other = tensor
    s, method = Settings(config, name, block, other), config["merge_method"]
    models = config["models"]
    base = files["base"][name].astype(float)
    vectors = [files[m["model"][2:-5]][name].astype(float) for m in models]
    weights = [s.get("weight", 1, m) for m in models]
    if method == "linear":
        mixed = sum(w * v for w, v in zip(weights, vectors))
        return mixed / sum(weights) if s.get("normalize", 1) else mixed
    if method == "slerp":
        return slerp(s.get("t"), *vectors)
    if method == "nuslerp":
        return nuslerp(s, weights, vectors, base * ("base_model" in config), rows)
    if method == "model_stock":
        return model_stock(base, vectors, rows if s.get("filter_wise", 0) else 1)
    if method == "karcher":
        vectors += [base] if "base_model" in config else []
        return merge_formulas.karcher(vectors, s.get("max_iter", 10), s.get("tol", 1e-5))
    if method == "multislerp":
        return merge_formulas.multislerp(base if "base_model" in config else None, vectors, weights,
                                         s.get("normalize_weights", 1), s.get("eps", 1e-8))
    if method in ("ram", "ramplus_tl"):
        return merge_formulas.ram(base, vectors, s.get("epsilon", 1e-5), s.get("r", 0),
                                  s.get("alpha", 0.2))
    if method == "nearswap":
        return merge_formulas.nearswap(base, vectors, s.get("t"))
    if method == "sce":
        return merge_formulas.sce(base, vectors, s.get("select_topk", 1))
    if method == "arcee_fusion":
        return merge_formulas.arcee_fusion(base, vectors, rows)
    return task(method, s, models, name, base, vectors, columns)


# Configurations.

NEW = ("nearswap", "ram", "ramplus_tl", "multislerp", "karcher", "sce", "arcee_fusion")


def whole_parameters(method, config):
    """The result of a method of merge_formulas.py."""
    of_all = config["parameters"]
    if method in ("nearswap", "arcee_fusion"):
        del config["models"][1:]
    if method == "nearswap":
        of_all["t"] = parameter(0, 0.5)
    if method in ("ram", "ramplus_tl"):
        of_all["epsilon"] = parameter(0, 0.5)
    if method == "ramplus_tl":
        of_all["r"], of_all["alpha"] = numbers(-1, 2), numbers(0, 3)
    if method == "multislerp":
        of_all["weight"], config["models"][1]["parameters"] = 1, {"weight": parameter(0.2, 1.5)}
        of_all["normalize_weights"] = bool(random.integers(2))
        of_all["eps"] = parameter(1e-8, 1e-2)
    if method == "karcher":
        of_all["max_iter"], of_all["tol"] = numbers(0, 12), numbers(1e-9, 1e-3)
    if method == "sce":
        of_all["select_topk"] = parameter(0, 1)


def make_config(method):
    free = method in ("nuslerp", "multislerp", "karcher")
    based = method not in ("linear", "slerp") and (not free or random.random() < 0.5)
    names = ["one", "other"] if based else ["base", "one"]
    config = {"merge_method": method, "parameters": {},
              "models": [{"model": f"./{n}.gguf"} for n in names]}
    of_all, of_one = config["parameters"], {}
    if based:
        config["base_model"] = "./base.gguf"
    if method in NEW:
        whole_parameters(method, config)
        return config
    if method == "slerp":
        of_all["t"] = parameter(0, 1)
    if method not in ("slerp", "model_stock"):
        of_all["weight"], of_one["weight"] = parameter(0.2, 1.5), parameter(0.2, 1.5)
    if method == "model_stock":
        of_all["filter_wise"] = bool(random.integers(2))
    if method == "nuslerp":
        of_all["nuslerp_flatten"] = bool(random.integers(2))
        of_all["nuslerp_row_wise"] = bool(random.integers(2))
    elif "weight" in of_all:
        of_all["normalize"] = bool(random.integers(2))
    if "weight" in of_all and method not in ("linear", "nuslerp"):
        of_all["lambda"] = numbers(-1, 1.5)
        if method != "task_arithmetic":
            of_all["density"], of_one["density"] = parameter(0.3, 0.8), numbers(0.3, 0.8)
            of_all["rescale"] = bool(random.integers(2))
    if method.startswith("della"):
        of_all["epsilon"] = numbers(0, 0.2)
    if method.startswith("breadcrumbs"):
        of_one["gamma"] = numbers(0, 0.5)
    if of_one:
        config["models"][1]["parameters"] = of_one
    return config


def check(mount):
    files = {name: np.load(f"{name}.npz") for name in ("base", "one", "other")}
    for method in METHODS * int(os.environ.get("TIMES", 1)):
        config, worst = make_config(method), 0
        text = "".join(f"{key}: {json.dumps(value)}\n" for key, value in config.items())
        with open(f"{mount}/.merge", "w", encoding="ascii") as merge:
            merge.write(text)
        for tensor in tensors():
            merged = np.load(f"{mount}/.views/npy/{tensor[4]}.npy").ravel()
            wanted = expected(config, tensor, files)
            if wanted is None:
                continue
            off = (np.abs(merged - wanted) / np.maximum(1e-3, np.abs(wanted))).max()
            if not off <= 2e-6:
                raise SystemExit(f"{off:.2g} off in {tensor[0]}, merged by\n{text}")
            worst = max(worst, off)
        print(f"{method}: {worst:.2g} off")


if __name__ == "__main__":
    if sys.argv[1] == "models":
        write_models(sys.argv[2])
    else:
        check(sys.argv[2])

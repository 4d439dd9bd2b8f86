#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""short mutants BASE DIR N SEED | check DIR MNT: models with misplaced tensors.

mutants writes N copies of a model into DIR with other offsets, types and lengths. check compares a
mount of DIR with this program's own findings, without code of organfs: a tensor is short if the
next one begins, or the file ends, before the bytes that its type needs. The mount marks short
tensors, and refuses to read or graft them. Every other tensor has its own bytes, also after a
graft of another one."""
import os
import random
import struct
import sys

import gguf

TABLE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "unit", "types-forks.tsv")
SIZES = {i: (n, size, 0) for i, (_, n, size) in gguf.TYPES.items()}
with open(TABLE, encoding="utf-8") as lines:
    for line in list(lines)[1:]:
        f = line.split("\t")
        SIZES[int(f[0])] = (int(f[2]), int(f[3]), int(f[4]))


def needed(t):
    """Bytes of a tensor; None for an unknown type; -1 if its rows are no whole blocks."""
    if t.type not in SIZES:
        return None
    n, size, row = SIZES[t.type]
    if (t.ne[0] if t.ne else 1) % n:
        return -1
    rows = t.elements // t.ne[0] if t.ne and t.ne[0] else 1
    return t.elements // n * size + (rows * row if t.elements else 0)


class Mutant(gguf.Model):
    def place(self):
        starts = sorted({t.relative for t in self.tensors}) + [self.size - self.data_start]
        last = starts[-2] if self.tensors else 0
        self.wrong = any(needed(t) == -1 or t.relative > starts[-1] for t in self.tensors)
        for t in self.tensors:
            t.offset = self.data_start + t.relative
            t.room = next((s for s in starts if s > t.relative), t.relative) - t.relative
            t.short = (needed(t) or 0) > t.room
        # A file that ends too early is incomplete, unless other tensors are short too.
        others = any(t.short and t.relative < last for t in self.tensors)
        self.wrong = self.wrong or not others and any(t.short for t in self.tensors)
        for t in self.tensors:
            t.size = t.room if t.short or needed(t) is None else needed(t)


def mutants(base, directory, n, seed):
    rng = random.Random(seed)
    model = gguf.Model(base)
    for k in range(int(n)):
        tensors = [[t.name, list(t.ne), t.type, t.relative] for t in model.tensors]
        data = bytearray(model.bytes[model.data_start:])
        for _ in range(rng.randint(1, 3)):
            t, other = rng.choice(tensors), rng.choice(tensors)
            kind = rng.randrange(6)
            if kind == 0:
                t[3] = max(0, t[3] + 32 * rng.randint(-40, 40))
            elif kind == 1:
                t[3], other[3] = other[3], t[3]
            elif kind == 2:
                t[3] = other[3]
            elif kind == 3:
                t[2] = rng.choice(sorted(SIZES) + [4, 43, 400, 1 << 31])
            elif kind == 4:
                t[1][-1] = max(1, t[1][-1] + rng.randint(-3, 3))
            else:
                del data[len(data) - rng.choice([1, 32, 4096]):]
        w = gguf.Writer()
        w.begin(len(tensors), len(model.kv))
        for key, value in model.kv:
            w.copy(key, value)
        for name, ne, type_id, relative in tensors:
            w.info(name, ne, type_id, relative)
        w.pad(32)
        with open(f"{directory}/m{k}.gguf", "wb") as out:
            out.write(w.out + data)


def organs_of(mnt):
    """Path of each organ file, by its tensor."""
    found = {}
    for entry in os.listdir(mnt):
        if not os.path.isdir(f"{mnt}/{entry}") or entry in ("metadata", "adapters"):
            continue
        for name in os.listdir(f"{mnt}/{entry}"):
            if name.endswith(".bin"):
                path = f"{mnt}/{entry}/{name}"
                found[os.getxattr(path, "user.organfs.tensor")] = path
    return found


def read(path):
    with open(path, "rb") as f:
        return f.read()


def write(path, content):
    """Try a graft: None, or its error."""
    try:
        with open(path, "wb") as f:
            f.write(content)
    except OSError as error:
        return error.errno
    return None


def statuses(mnt):
    found = set()
    for entry in os.listdir(mnt):
        if os.path.exists(f"{mnt}/{entry}/.theta"):
            rows = [row.split("\t") for row in read(f"{mnt}/{entry}/.theta").decode().splitlines()]
            found |= {row[0] for row in rows[1:] if row[9] == "short" and row[2] != "1"}
    return found


def check_graft(model, mnt, paths, short):
    rng = random.Random(model.size)
    whole = [t for t in model.tensors if not t.short and needed(t)]
    for t in [t for t in model.tensors if t.short][:2]:
        content = gguf.organ_header(t) + bytes(needed(t))
        gguf.check(write(paths[t.name], content) is not None, f"{t.name}: a graft onto it")
        gguf.check(write(paths[t.name], read(paths[t.name])) is not None, f"{t.name}: its own")
    if not whole:
        return
    t = rng.choice(whole)
    data = rng.randbytes(t.size)
    gguf.check(write(paths[t.name], gguf.organ_header(t) + data) is None, f"{t.name}: no graft")
    try:
        made = read(f"{mnt}/model.gguf")
    except OSError:
        gguf.check(short, "no model.gguf")
        return
    gguf.check(not short, "model.gguf with short tensors and a graft")
    out = f"{os.environ['TMP']}/made.gguf"
    write(out, made)
    again = Mutant(out)
    gguf.check(not again.wrong, "model.gguf is not whole")
    for was in model.tensors:
        now = again.tensor(was.name)
        wanted = data if was.name == t.name else model.data(was)
        gguf.check(not now.short and again.data(now)[:was.size] == wanted, f"{was.name} changed")


def check(directory, mnt):
    seen = 0
    for name in sorted(os.listdir(directory)):
        file, root = f"{directory}/{name}", f"{mnt}/{name.removesuffix('.gguf')}"
        model = Mutant(file)
        try:
            if not os.path.isdir(root):
                gguf.check(model.wrong, "not mounted")
                continue
            gguf.check(not model.wrong, "mounted")
            short = {t.name for t in model.tensors if t.short}
            paths = organs_of(root)
            said = {p.removeprefix(root + "/") for n, p in paths.items() if n in short}
            gguf.check(statuses(root) == said, f"status short: {statuses(root)}, not {said}")
            gguf.check(bool(short) == ("impossible\tlayout\t" in read(f"{root}/.check").decode()),
                       "layout of .check")
            for t in model.tensors:
                gguf.check(read(paths[t.name]) == gguf.organ_header(t) + model.data(t),
                           f"the bytes of {t.name}")
            gguf.check(read(f"{root}/model.gguf") == read(file), "model.gguf")
            check_graft(model, root, paths, short)
            seen += bool(short)
        except gguf.Wrong as wrong:
            sys.exit(f"{file}: {wrong}")
    print(f"{seen} with short tensors")
    if seen == 0:
        sys.exit("no mutant has short tensors")


{"mutants": mutants, "check": check}[sys.argv[1]](*sys.argv[2:])

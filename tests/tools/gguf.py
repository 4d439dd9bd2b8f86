# SPDX-License-Identifier: MIT
"""gguf.py - a second opinion on GGUF: reads and writes model files without any code of organfs.

The mount tests take the expected tree and the expected assembled file from this program. It shares
nothing with the C reader: it has its own table of types, and does everything in the most obvious
way. Needs only Python 3.11. Exits 1 with one line if a check fails.
"""
import argparse
import array
import fnmatch
import json
import mmap
import os
import random
import re
import stat
import struct
import subprocess
import sys

# id: (name, elements a block, bytes a block), from ggml.
TYPES = {
    0: ("F32", 1, 4), 1: ("F16", 1, 2), 2: ("Q4_0", 32, 18), 3: ("Q4_1", 32, 20),
    6: ("Q5_0", 32, 22), 7: ("Q5_1", 32, 24), 8: ("Q8_0", 32, 34), 9: ("Q8_1", 32, 36),
    10: ("Q2_K", 256, 84), 11: ("Q3_K", 256, 110), 12: ("Q4_K", 256, 144),
    13: ("Q5_K", 256, 176), 14: ("Q6_K", 256, 210), 15: ("Q8_K", 256, 292),
    16: ("IQ2_XXS", 256, 66), 17: ("IQ2_XS", 256, 74), 18: ("IQ3_XXS", 256, 98),
    19: ("IQ1_S", 256, 50), 20: ("IQ4_NL", 32, 18), 21: ("IQ3_S", 256, 110),
    22: ("IQ2_S", 256, 82), 23: ("IQ4_XS", 256, 136), 24: ("I8", 1, 1), 25: ("I16", 1, 2),
    26: ("I32", 1, 4), 27: ("I64", 1, 8), 28: ("F64", 1, 8), 29: ("IQ1_M", 256, 56),
    30: ("BF16", 1, 2), 34: ("TQ1_0", 256, 54), 35: ("TQ2_0", 256, 66), 39: ("MXFP4", 32, 17),
    40: ("NVFP4", 64, 36), 41: ("Q1_0", 128, 18), 42: ("Q2_0", 64, 18),
}
F32, F16, Q8_0, Q4_K, Q6_K = 0, 1, 8, 12, 14

# Metadata types: struct codes of the scalars; 8 is a string, 9 an array.
SCALARS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q",
           12: "d"}
U16, U32, I32, FLOAT, STRING, ARRAY = 2, 4, 5, 6, 8, 9

CLASSES = ("skeleton", "organs", "embed", "norm", "adapters", "other")
PLAIN = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-+."


class Wrong(Exception):
    """A failed check, named in the text."""


def check(condition, text):
    if not condition:
        raise Wrong(text)


def align_up(value, alignment):
    return -(-value // alignment) * alignment


def size_of(type_id, ne):
    """Size in bytes of a tensor of a known type."""
    _, elements, size = TYPES[type_id]
    n = 1
    for axis in ne:
        n *= axis
    check((ne[0] if ne else 1) % elements == 0, "rows are no multiple of the block")
    return n // elements * size


class Tensor:
    def __init__(self, name, ne, type_id, relative):
        self.name, self.ne, self.type, self.relative = name, ne, type_id, relative
        self.offset = self.size = None

    @property
    def type_name(self):
        return TYPES[self.type][0] if self.type in TYPES else f"type-{self.type}"

    @property
    def shape(self):
        return "x".join(map(str, self.ne)) or "1"

    @property
    def elements(self):
        n = 1
        for axis in self.ne:
            n *= axis
        return n


class Value:
    """A metadata value: the place of its bytes, and its meaning."""

    def __init__(self, model, type_id, start):
        self.model, self.type, self.start, self.end = model, type_id, start, None
        self.element = self.count = self.data = None


class Model:
    """A mapped GGUF file. Raises Wrong or struct.error if the file is none."""

    def __init__(self, path):
        self.path = path
        self.file = open(path, "rb")
        self.size = os.fstat(self.file.fileno()).st_size
        self.bytes = mmap.mmap(self.file.fileno(), 0, prot=mmap.PROT_READ)
        self.at = 0
        check(self.bytes[:4] == b"GGUF", "no GGUF magic")
        self.at = 4
        self.version = self.take("I")
        check(self.version in (1, 2, 3), f"version {self.version}")
        self.wide = "Q" if self.version > 1 else "I"
        n_tensors, n_kv = self.take(self.wide), self.take(self.wide)
        self.kv_start = self.at
        self.kv = [self.take_kv() for _ in range(n_kv)]
        self.infos_start = self.at
        self.tensors = [self.take_info() for _ in range(n_tensors)]
        self.infos_end = self.at
        self.alignment = self.get(b"general.alignment", 32)
        self.data_start = align_up(self.at, self.alignment) if n_tensors else self.at
        self.place()

    def take(self, code):
        value = struct.unpack_from("<" + code, self.bytes, self.at)[0]
        self.at += struct.calcsize("<" + code)
        return value

    def take_string(self):
        length = self.take(self.wide)
        check(length <= self.size - self.at, "a string runs past the end")
        text = self.bytes[self.at:self.at + length]
        self.at += length
        return text

    def take_kv(self):
        key = self.take_string()
        value = Value(self, self.take("I"), self.at)
        if value.type in SCALARS:
            value.data = self.take(SCALARS[value.type].replace("?", "B"))
        elif value.type == STRING:
            value.data = self.take_string()
        else:
            check(value.type == ARRAY, f"metadata type {value.type}")
            value.element, value.count = self.take("I"), self.take(self.wide)
            if value.element == STRING:
                for _ in range(value.count):
                    length = self.take(self.wide)
                    self.at += length
            else:
                self.at += value.count * struct.calcsize("<" + SCALARS[value.element])
        value.end = self.at
        return key, value

    def take_info(self):
        name = self.take_string()
        ne = [self.take(self.wide) for _ in range(self.take("I"))]
        type_id = self.take("I")
        return Tensor(name, ne, type_id, self.take("Q"))

    def place(self):
        starts = sorted({t.relative for t in self.tensors}) + [self.size - self.data_start]
        for t in self.tensors:
            t.offset = self.data_start + t.relative
            if t.type in TYPES:
                t.size = size_of(t.type, t.ne)
            else:  # unknown type: all bytes up to the next tensor
                t.size = next(s for s in starts if s > t.relative) - t.relative
            check(t.offset + t.size <= self.size, f"{t.name!r} runs past the end")

    def get(self, key, default=None):
        return next((v.data for k, v in self.kv if k == key), default)

    def data(self, tensor):
        return self.bytes[tensor.offset:tensor.offset + tensor.size]

    def tensor(self, name):
        found = [t for t in self.tensors if t.name == name]
        check(len(found) == 1, f"{self.path}: {len(found)} tensors are named {name!r}")
        return found[0]

    def elements_of(self, value):
        """The elements of an array value, as struct.unpack() gives them or as bytes."""
        self.at = value.start + 4 + struct.calcsize("<" + self.wide)
        if value.element == STRING:
            return [self.take_string() for _ in range(value.count)]
        code = SCALARS[value.element].replace("?", "B")
        return [self.take(code) for _ in range(value.count)]


# ---- writing --------------------------------------------------------------------------------

class Writer:
    """Header bytes of a GGUF of any version and byte order."""

    def __init__(self, version=3, order="<"):
        self.out, self.order, self.version = bytearray(), order, version
        self.wide = "Q" if version > 1 else "I"

    def put(self, code, *values):
        self.out += struct.pack(self.order + code, *values)

    def string(self, text):
        self.put(self.wide, len(text))
        self.out += text

    def begin(self, n_tensors, n_kv):
        self.out += b"GGUF"
        self.put("I" + self.wide * 2, self.version, n_tensors, n_kv)

    def entry(self, key, type_id, value):
        """Write an entry whose value is a scalar or a string."""
        self.string(key)
        self.put("I", type_id)
        if type_id == STRING:
            self.string(value)
        else:
            self.put(SCALARS[type_id], value)

    def array(self, key, element, values):
        self.string(key)
        self.put("II" + self.wide, ARRAY, element, len(values))
        for value in values:
            if element == STRING:
                self.string(value)
            else:
                self.put(SCALARS[element].replace("?", "B"), value)

    def copy(self, key, value):
        if value.type == ARRAY:
            self.array(key, value.element, value.model.elements_of(value))
        elif value.type == STRING:
            self.entry(key, STRING, value.data)
        else:
            self.string(key)
            self.put("I" + SCALARS[value.type].replace("?", "B"), value.type, value.data)

    def info(self, name, ne, type_id, relative):
        self.string(name)
        self.put("I" + self.wide * len(ne), len(ne), *ne)
        self.put("IQ", type_id, relative)

    def pad(self, alignment):
        self.out += bytes(-len(self.out) % alignment)


def running_sums(sizes, alignment):
    at, offsets = 0, []
    for size in sizes:
        offsets.append(at)
        at = align_up(at + size, alignment)
    return offsets


def rewrite(base, out, version, alignment, trailing=0, order="<", data_of=None, keep=None,
            extra=()):
    """Write base anew: other container version, alignment, byte order, or only some tensors."""
    tensors = base.tensors if keep is None else keep
    kv = [(k, v) for k, v in base.kv if k != b"general.alignment"]
    with_alignment = alignment != 32 or len(kv) != len(base.kv)
    w = Writer(version, order)
    w.begin(len(tensors), len(kv) + with_alignment + len(extra))
    for key, value in kv:
        w.copy(key, value)
    if with_alignment:
        w.entry(b"general.alignment", U32, alignment)
    for key, type_id, value in extra:
        w.entry(key, type_id, value)
    offsets = running_sums([t.size for t in tensors], alignment)
    for t, offset in zip(tensors, offsets):
        w.info(t.name, t.ne, t.type, offset)
    with open(out, "wb") as f:
        if tensors:
            w.pad(alignment)
        f.write(w.out)
        for t in tensors:
            data = data_of(t) if data_of else base.data(t)
            f.write(data)
            f.write(bytes(-len(data) % alignment))
        # Not zeros, to tell these bytes from padding.
        f.write(bytes((i * 37 + 11) % 256 for i in range(trailing)))


def matching(base, pattern):
    names = [t.name for t in base.tensors
             if fnmatch.fnmatchcase(t.name.decode("latin-1"), pattern)]
    check(names, f"no tensor matches {pattern}")
    return names


def cmd_variant(a):
    base = Model(a.base)
    rewrite(base, a.out, a.version or base.version, a.align or base.alignment, a.trailing,
            keep=[] if a.vocab else None)


def cmd_bigendian(a):
    base = Model(a.base)
    width = {0: 4, 1: 2, 30: 2, 25: 2, 26: 4, 27: 8, 28: 8}

    def swapped(t):
        n, data = width.get(t.type, 1), bytearray(base.data(t))
        for i in range(n // 2):
            data[i::n], data[n - 1 - i::n] = data[n - 1 - i::n], data[i::n]
        return data

    rewrite(base, a.out, 3, base.alignment, order=">", data_of=swapped)


def cmd_split(a):
    base = Model(a.base)
    each = -(-len(base.tensors) // a.n)
    for i in range(a.n):
        split = ((b"split.no", U16, i), (b"split.count", U16, a.n),
                 (b"split.tensors.count", I32, len(base.tensors)))
        shard = Model(a.base)
        if i:
            shard.kv = []
        rewrite(shard, f"{a.prefix}-{i + 1:05}-of-{a.n:05}.gguf", 3, 32,
                keep=base.tensors[i * each:(i + 1) * each], extra=split)


def cmd_shard(a):
    """Write a shard with any numbers and the named tensors."""
    base = Model(a.base)
    split = ((b"split.no", U16, int(a.no)), (b"split.count", U16, int(a.count)),
             (b"split.tensors.count", I32, int(a.total)))
    base.kv = []
    rewrite(base, a.out, 3, 32, keep=[base.tensor(n.encode()) for n in a.tensors], extra=split)


def cmd_splice(a):
    """Graft tensors of the slots' own sizes: only their bytes, and the type ids, change."""
    base, donor = Model(a.base), Model(a.donor)
    out = bytearray(base.bytes[:])
    base.at = base.infos_start
    type_at = {}
    for _ in base.tensors:
        t = base.take_info()
        type_at[t.name] = base.at - 12
    for name in matching(base, a.pattern):
        t, d = base.tensor(name), donor.tensor(name)
        check(t.size == d.size, f"{name!r}: the sizes differ, use relayout")
        out[t.offset:t.offset + t.size] = donor.data(d)
        struct.pack_into("<I", out, type_at[name], d.type)
    with open(a.out, "wb") as f:
        f.write(out)


def cmd_relayout(a):
    """Graft tensors of other sizes: infos in the base's order, offsets as running sums."""
    base, donor = Model(a.base), Model(a.donor)
    grafted = set(matching(base, a.pattern))
    source = [donor.tensor(t.name) if t.name in grafted else t for t in base.tensors]
    w = Writer(base.version)
    w.out += base.bytes[:base.infos_start]
    offsets = running_sums([s.size for s in source], base.alignment)
    for t, s, offset in zip(base.tensors, source, offsets):
        w.info(t.name, s.ne if a.any_shape else t.ne, s.type, offset)
    w.pad(base.alignment)
    with open(a.out, "wb") as f:
        f.write(w.out)
        for t, s in zip(base.tensors, source):
            f.write((donor if t.name in grafted else base).data(s))
            f.write(bytes(-s.size % base.alignment))


NAMES = {"uint8": 0, "int8": 1, "uint16": 2, "int16": 3, "uint32": 4, "int32": 5, "float32": 6,
         "bool": 7, "string": 8, "uint64": 10, "int64": 11, "float64": 12}


def scalar_of(type_id, text):
    if type_id == STRING:
        return text.encode("utf-8", "surrogateescape")
    if type_id == 7:
        return {"true": True, "false": False}[text]
    return float(text) if type_id in (6, 12) else int(text)


def put_edit(w, key, text):
    """Parse TYPE:VALUE, or TYPE[]:JSON."""
    kind, value = text.split(":", 1)
    if kind.endswith("[]"):
        element = NAMES[kind[:-2]]
        values = json.loads(value)
        if element == STRING:
            values = [v.encode("utf-8", "surrogateescape") for v in values]
        w.array(key, element, values)
    else:
        w.entry(key, NAMES[kind], scalar_of(NAMES[kind], value))


def cmd_edit(a):
    """Change metadata: entries stay in their places, added ones follow by key, the data stays."""
    base = Model(a.base)
    edits = dict(edit.split("=", 1) for edit in a.edits)
    edits = {k.encode(): v for k, v in edits.items()}
    keys = [k for k, _ in base.kv]
    added = sorted(k for k, v in edits.items() if k not in keys)
    w = Writer(base.version)
    w.begin(len(base.tensors), sum(edits.get(k) != "" for k in keys) + len(added))
    start = base.kv_start
    for key, value in base.kv:
        if key not in edits:
            w.out += base.bytes[start:value.end]
        elif edits[key]:
            put_edit(w, key, edits[key])
        start = value.end
    for key in added:
        put_edit(w, key, edits[key])
    w.out += base.bytes[base.infos_start:base.infos_end]
    if base.tensors:
        w.pad(base.alignment)
    with open(a.out, "wb") as f:
        f.write(w.out + base.bytes[base.data_start:])


def organ_header(t):
    return struct.pack(f"<I{len(t.name)}sI{len(t.ne)}QI", len(t.name), t.name, len(t.ne), *t.ne,
                       t.type)


def cmd_organ(a):
    """Write one tensor of a model as an organ file."""
    model = Model(a.file)
    t = model.tensor(os.fsencode(a.tensor))
    with open(a.out, "wb") as f:
        f.write(organ_header(t) + model.data(t))


def xxh64(data):
    said = subprocess.run(["xxhsum", "-H64"], input=data, capture_output=True, check=True)
    return said.stdout.split()[0].decode()


def cmd_gguf_hash(a):
    """Print the output of llama-gguf-hash --xxh64 for a model of that name."""
    model = Model(a.file)
    lines = [(xxh64(model.data(t)), a.name.encode() + b":" + t.name) for t in model.tensors]
    lines.append((xxh64(b"".join(map(model.data, model.tensors))), a.name.encode()))
    for digits, name in lines:
        sys.stdout.buffer.write(b"%-8s  %s  %s\n" % (b"xxh64", digits.encode(), name))


def cmd_organs(a):
    for t in Model(a.file).tensors:
        print(t.name.decode(errors="backslashreplace"), t.type_name, t.shape, t.offset, t.size,
              sep="\t")


def synth_tensors(count, big):
    """Names and axes of a llama with count tensors; the caller chooses the rows of matrices."""
    width = 4096
    roles = [("attn_norm", 1), ("attn_q", 2), ("attn_k", 2), ("attn_v", 2), ("attn_output", 2),
             ("ffn_norm", 1), ("ffn_gate", 2), ("ffn_up", 2), ("ffn_down", 2)]
    names = [("token_embd.weight", 2), ("output_norm.weight", 1)]
    for i in range(count - 2):
        role, axes = roles[i % len(roles)]
        names.append((f"blk.{i // len(roles)}.{role}.weight", axes))
    return [(n.encode(), [width] if axes == 1 else [width, big if n == "blk.0.ffn_up.weight"
                                                    and big else None])
            for n, axes in names]


def cmd_synth(a):
    """Write a model of any size, sparse unless data is asked for."""
    row = size_of(Q4_K, [4096])
    tensors = synth_tensors(a.tensors, a.organ // row if a.organ else None)
    free = sum(len(ne) == 2 and ne[1] is None for _, ne in tensors)
    rows = max(1, (a.size - a.organ) // row // max(1, free))
    tensors = [(n, [ne[0], rows] if len(ne) == 2 and ne[1] is None else ne) for n, ne in tensors]
    w = Writer()
    w.begin(len(tensors), 9)
    w.entry(b"general.architecture", STRING, b"llama")
    w.entry(b"general.name", STRING, b"synthetic")
    w.entry(b"llama.block_count", U32, (len(tensors) + 6) // 9)
    w.entry(b"llama.embedding_length", U32, 4096)
    w.entry(b"llama.attention.head_count", U32, 32)
    w.entry(b"tokenizer.ggml.model", STRING, b"llama")
    w.array(b"tokenizer.ggml.tokens", STRING, [b"token%d" % i for i in range(a.vocab)])
    w.array(b"tokenizer.ggml.scores", FLOAT, [-float(i) for i in range(a.vocab)])
    w.array(b"tokenizer.ggml.token_type", I32, [1] * a.vocab)
    types = [F32 if len(ne) == 1 else Q4_K for _, ne in tensors]
    sizes = [size_of(t, ne) for t, (_, ne) in zip(types, tensors)]
    offsets = running_sums(sizes, 32)
    for (name, ne), type_id, offset in zip(tensors, types, offsets):
        w.info(name, ne, type_id, offset)
    w.pad(32)
    end = len(w.out) + align_up(offsets[-1] + sizes[-1], 32)
    with open(a.out, "wb") as f:
        f.write(w.out)
        if a.fill:
            block = os.urandom(1 << 20)
            while f.tell() < end:
                f.write(block[:end - f.tell()])
        f.truncate(end)


def cmd_small(a):
    """Write a model of many organs of 8 KiB, two a block."""
    random.seed(a.seed)
    names = [b"blk.%d.ffn_%s.weight" % (i, role) for i in range(a.blocks)
             for role in (b"up", b"down")]
    w = Writer()
    w.begin(len(names), 2)
    w.entry(b"general.architecture", STRING, b"llama")
    w.entry(b"llama.block_count", U32, a.blocks)
    for i, name in enumerate(names):
        w.info(name, [64, 32], F32, 8192 * i)
    w.pad(32)
    values = [random.gauss(0, 0.02) for _ in range(2048 + len(names))]
    with open(a.out, "wb") as f:
        f.write(w.out)
        for i in range(len(names)):
            f.write(struct.pack("<2048f", *values[i:i + 2048]))


def qwen_tensors():
    """Names, axes and types of Qwen2.5-7B as Q4_K_M: 339 tensors, 7.6e9 weights, 4.7 GB."""
    width, kv, hidden, vocabulary = 3584, 512, 18944, 152064
    yield "token_embd.weight", [width, vocabulary], Q4_K
    for i in range(28):
        # llama.cpp gives half of these tensors more bits.
        more = Q6_K if i < 3 or i >= 24 or i % 3 == 2 else Q4_K
        for role, ne, type_id in (
                ("attn_norm.weight", [width], F32), ("ffn_down.weight", [hidden, width], more),
                ("ffn_gate.weight", [width, hidden], Q4_K),
                ("ffn_up.weight", [width, hidden], Q4_K), ("ffn_norm.weight", [width], F32),
                ("attn_k.bias", [kv], F32), ("attn_k.weight", [width, kv], Q4_K),
                ("attn_output.weight", [width, width], Q4_K), ("attn_q.bias", [width], F32),
                ("attn_q.weight", [width, width], Q4_K), ("attn_v.bias", [kv], F32),
                ("attn_v.weight", [width, kv], more)):
            yield f"blk.{i}.{role}", ne, type_id
    yield "output_norm.weight", [width], F32
    yield "output.weight", [width, vocabulary], Q6_K


def random_blocks(type_id):
    """A megabyte, about, of blocks with nearly normal values."""
    half = struct.pack("<e", 0.002)
    count = (1 << 20) // TYPES[type_id][2]
    if type_id == F32:
        return b"".join(struct.pack("<f", 1 + random.gauss(0, 0.1)) for _ in range(1 << 18))
    if type_id == F16:
        return b"".join(struct.pack("<e", random.gauss(0, 0.02)) for _ in range(1 << 19))
    if type_id == Q8_0:
        return b"".join(half + random.randbytes(32) for _ in range(count))
    if type_id == Q4_K:
        return b"".join(half + half + bytes(12) + random.randbytes(128) if i % 7 == 0 else
                        half + half + random.randbytes(140) for i in range(count))
    return b"".join(random.randbytes(208) + half for _ in range(count))


def cmd_qwen(a):
    """Write a model with a real model's shapes and types, and random weights."""
    random.seed(7)
    tensors = list(qwen_tensors())
    sizes = [size_of(t, ne) for _, ne, t in tensors]
    offsets = running_sums(sizes, 32)
    w = Writer()
    w.begin(len(tensors), 3)
    w.entry(b"general.architecture", STRING, b"qwen2")
    w.entry(b"qwen2.block_count", U32, 28)
    w.entry(b"qwen2.attention.head_count", U32, 28)
    for (name, ne, type_id), offset in zip(tensors, offsets):
        w.info(name.encode(), ne, type_id, offset)
    w.pad(32)
    blocks = {t: random_blocks(t) for t in (F32, Q4_K, Q6_K)}
    with open(a.out, "wb") as f:
        f.write(w.out)
        for (_, _, type_id), offset, size in zip(tensors, offsets, sizes):
            f.seek(len(w.out) + offset)
            block = blocks[type_id]
            for at in range(0, size, len(block)):
                f.write(block[:size - at])
        f.truncate(len(w.out) + align_up(offsets[-1] + sizes[-1], 32))


def cmd_matrix(a):
    """Write a model of one tensor with rows of 4096 values."""
    types = {"F16": F16, "Q8_0": Q8_0, "Q4_K": Q4_K, "Q6_K": Q6_K}
    random.seed(9)
    ne = [4096, a.rows]
    size = size_of(types[a.type], ne)
    w = Writer()
    w.begin(1, 1)
    w.entry(b"general.architecture", STRING, b"llama")
    w.info(b"blk.0.ffn_up.weight", ne, types[a.type], 0)
    w.pad(32)
    with open(a.out, "wb") as f:
        f.write(w.out)
        if not a.sparse:
            block = random_blocks(types[a.type])
            for at in range(0, size, len(block)):
                f.write(block[:size - at])
        f.truncate(len(w.out) + align_up(size, 32))


HOSTILE = {
    "parent": [b"../x", b"..", b".", b"../../../../../../tmp/escaped"],
    "absolute": [b"/etc/x", b"/", b"//"],
    "empty": [b""],
    "newline": [b"a\nb", b"\n", b"a\tb\r", b"\x1b[31mred", b"\x7f"],
    "long": [b"x" * 300, b"y" * 255, b"z" * 251, b"\xff" * 200, b"." * 300],
    "long-twins": [b"t" * 400 + b"1", b"t" * 400 + b"2", b"t" * 400 + b".weight"],
    "renamed": [b"blk.0.ffn_up.weight", b"blk_0_ffn_up", b"blk.0.ffn.up.weight", b"blk.0.ffn_up",
                b"blk_0.ffn_up.weight", b"blk.0.ffn_up.weight.weight", b".weight", b"weight"],
    "encoded": [b"a/b", b"a%2Fb", b"a%2fb", b"a_b", b"a.b", b"%", b"%%", b"a b", b"a~b"],
    "reserved": [b"manifest.json", b"model.gguf", b".assemble", b".grafts", b".log", b".theta",
                 b"x.theta", b"x", b".base", b".Trash", b".DS_Store", b"Thumbs.db", b"x.bin",
                 b"x.bin.weight", b".wh.x"],
    "binary": [b"nul\0inside", b"nul\0", b"\0", b"\xc3\x28", b"\xed\xa0\x80", "ümläut".encode(),
               b"\"quoted\"", b"back\\slash", b"*?[", b"$(touch /tmp/x)", b"`id`", b"-rf"],
    "case": [b"blk.0.FFN_up.weight", b"blk.0.ffn_up.weight", b"BLK.0.ffn_up.weight"],
}


def cmd_hostile(a):
    """Write a model for each kind of evil tensor names, and one with all of them."""
    os.makedirs(a.outdir, exist_ok=True)
    everything = sorted({name for names in HOSTILE.values() for name in names})
    for kind, names in {**HOSTILE, "all": everything}.items():
        w = Writer()
        w.begin(len(names), 1)
        w.entry(b"general.architecture", STRING, b"llama")
        for i, name in enumerate(names):
            w.info(name, [8], F32, i * 32)
        w.pad(32)
        for i in range(len(names)):
            w.out += struct.pack("<8f", *[i + j / 8 for j in range(8)])
        with open(os.path.join(a.outdir, kind + ".gguf"), "wb") as f:
            f.write(w.out)


def expert_scale(i, e):
    """Factor between expert e of block i and the dense network, different for each pair."""
    return 1 + (i + 1) * (e - 3) / 64


def cmd_nextn(a):
    """Write only the block for multi-token prediction that follows the base's, with one key."""
    base, tensors, data = Model(a.base), [], {}
    width = base.get(b"llama.embedding_length")
    number = base.get(b"llama.block_count")

    def add(name, ne, content, kind):
        tensors.append(Tensor(b"blk.%d." % number + name, ne, kind, 0))
        tensors[-1].size = len(content)
        data[tensors[-1].name] = content

    last = b"blk.%d." % (number - 1)
    for t in base.tensors:
        if not t.name.startswith(last):
            continue
        if a.up_type and t.name == last + b"ffn_up.weight":
            # 160 bytes a row, which no type of ggml has.
            add(b"ffn_up.weight", t.ne, bytes(i * 7 % 256 for i in range(t.ne[1] * 160)), a.up_type)
        else:
            add(t.name[len(last):], t.ne, base.data(t), t.type)
    for name in b"enorm", b"hnorm", b"shared_head_norm":
        add(b"nextn." + name + b".weight", [width], bytes(4 * width), F32)
    add(b"nextn.eh_proj.weight", [2 * width, width], bytes(8 * width * width), F32)
    base.kv = [(k, v) for k, v in base.kv if k == b"general.architecture"]
    rewrite(base, a.out, 3, 32, keep=tensors, data_of=lambda t: data[t.name])


def cmd_experts(a):
    """Write a dense llama in F32, each network as n experts with a router that tells them apart."""
    base, tensors, data = Model(a.base), [], {}

    def add(name, ne, values):
        tensors.append(Tensor(name, ne, F32, 0))
        tensors[-1].size = size_of(F32, ne)
        data[name] = array.array("f", values).tobytes()

    random.seed(8)
    for t in base.tensors:
        values = array.array("f", base.data(t))
        found = re.fullmatch(rb"blk\.(\d+)\.ffn_(gate|up|down)\.weight", t.name)
        if not found:
            add(t.name, t.ne, values)
            continue
        i = int(found[1])
        if found[2] == b"gate":
            width = t.ne[0]
            add(b"blk.%d.ffn_gate_inp.weight" % i, [width, a.n],
                (random.gauss(0, 1) for _ in range(width * a.n)))
        add(b"blk.%d.ffn_%s_exps.weight" % (i, found[2]), t.ne + [a.n],
            (v * expert_scale(i, e) for e in range(a.n) for v in values))
    rewrite(base, a.out, 3, 32, keep=tensors, data_of=lambda t: data[t.name],
            extra=((b"llama.expert_count", U32, a.n), (b"llama.expert_used_count", U32, 2)))


# ---- checking a mount -----------------------------------------------------------------------

def short_name(name):
    """NAME of a tensor, if no other tensor has the same name."""
    name = name.removesuffix(b".weight").replace(b".", b"_")
    return percent(name)


def percent(name):
    out = "".join(chr(c) if c in PLAIN else f"%{c:02X}" for c in name)
    return "%2E" + out[1:] if out.startswith(".") else out


def expected_names(model):
    """File name without .bin for each tensor; None if a too long name has a substitute."""
    short = {}
    for t in model.tensors:
        short.setdefault(short_name(t.name), []).append(t.name)
    names = {}
    for t in model.tensors:
        own = short_name(t.name)
        name = own if len(short[own]) == 1 else percent(t.name)
        # organfs chooses the substitute for a name that is empty or too long.
        names[t.name] = name if name and len(name) <= 200 else None
    return names


def block_of(name):
    found = re.match(rb"(?:[^.]+\.)*?blk\.(0|[1-9][0-9]{0,8})\.", name)
    return int(found[1]) if found else None


def xattr(path, name):
    try:
        return os.getxattr(path, "user.organfs." + name)
    except OSError:
        return None


def check_extent(path, model, t):
    extent = xattr(path, "extent")
    if t.size == 0 and extent is None:
        return
    check(extent is not None, f"{path}: no extent")
    file, offset, length = extent.rsplit(b":", 2)
    check(os.path.samefile(file, model.path) and (int(offset), int(length)) == (t.offset, t.size),
          f"{path}: the extent is {extent!r}, the tensor lies at {t.offset}:{t.size}")


def check_xattrs(path, directory, model, t, grafted):
    expected = {"tensor": t.name, "type": t.type_name.encode(), "shape": t.shape.encode(),
                "class": directory.encode()}
    block = block_of(t.name)
    if block is not None:
        expected["block"] = str(block).encode()
    listed = os.listxattr(path)
    for name, value in expected.items():
        check(xattr(path, name) == value,
              f"{path}: user.organfs.{name} is {xattr(path, name)!r}, not {value!r}")
        check("user.organfs." + name in listed, f"{path}: {name} is not listed")
    if not grafted:
        check_extent(path, model, t)


def check_organ(path, directory, model, by_name, grafted):
    """Check one organ file against the model. Returns its tensor."""
    status = os.lstat(path)
    check(stat.S_ISREG(status.st_mode), f"{path}: no regular file")
    with open(path, "rb") as f:
        content = f.read()
    check(len(content) == status.st_size, f"{path}: stat says {status.st_size} bytes, "
          f"there are {len(content)}")
    check(len(content) >= 4, f"{path}: too short")
    length = struct.unpack_from("<I", content)[0]
    name = content[4:4 + length]
    slot = xattr(path, "tensor")
    check(slot in by_name, f"{path}: it says it is {slot!r}, which is no tensor")
    t = by_name[slot]
    # A graft's header may keep the tensor name of the donor.
    check(name == slot or grafted, f"{path}: its header says it is {name!r}, not {slot!r}")
    header = organ_header(Tensor(name, t.ne, t.type, 0))
    check(content[:len(header)] == header, f"{path}: the header differs from {header!r}")
    check(len(content) == len(header) + t.size, f"{path}: {len(content)} bytes")
    check(content[len(header):] == model.data(t), f"{path}: the data differs")
    check(status.st_blocks * 512 >= status.st_size, f"{path}: looks sparse")
    check_xattrs(path, directory, model, t, grafted)
    return t


def check_theta_file(path):
    """Check that NAME.theta beside an organ has its size before it is measured."""
    file = path.removesuffix("bin") + "theta"
    status = os.lstat(file)
    with open(file, "rb") as f:
        content = f.read()
    check(stat.S_ISREG(status.st_mode) and status.st_size == 6, f"{file}: {status.st_size} bytes")
    check(re.fullmatch(rb"[ 0-9][0-9]\.[0-9]{2}\n|  nan\n", content), f"{file}: {content!r}")
    degrees = content.strip()
    check(xattr(path, "theta") == (None if degrees == b"nan" else degrees),
          f"{path}: the attribute says {xattr(path, 'theta')!r}, {file} says {degrees!r}")
    check("user.organfs.theta" not in os.listxattr(path), f"{path}: theta is listed")


def read_table(mount, directory):
    """CLASS/.theta as a list of dictionaries, one a row."""
    path = os.path.join(mount, directory, ".theta")
    with open(path, encoding="utf-8") as f:
        text = f.read()
    check(len(text.encode()) == os.lstat(path).st_size, f"{path}: its size is wrong")
    lines = text.split("\n")
    check(lines.pop() == "", f"{path}: does not end in a newline")
    rows = [line.split("\t") for line in lines]
    check(rows[0] == ["file", "type", "elements", "theta", "signal", "entropy", "kurtosis",
                      "spacing", "magnitude", "status", "min", "max", "mean", "deviation",
                      "zeros"], f"{path}: the header is {rows[0]}")
    check(all(len(row) == 15 for row in rows), f"{path}: ragged")
    check(len({sum(map(len, row[8:])) for row in rows[1:]} or {0}) == 1,
          f"{path}: rows differ in width")
    return [dict(zip(rows[0], row)) for row in rows[1:]]


def check_table(mount, directory, expected):
    """Check the table of a directory; expected: tensors by file name without .bin."""
    rows = {row["file"]: row for row in read_table(mount, directory)}
    check(set(rows) == {f"{directory}/{name}.bin" for name in expected},
          f"{directory}/.theta has other rows")
    for name, t in expected.items():
        row = rows[f"{directory}/{name}.bin"]
        check((row["type"], int(row["elements"])) == (t.type_name, t.elements), f"{row}")
        with open(os.path.join(mount, directory, name + ".theta"), encoding="ascii") as f:
            check(f.read().strip() == row["theta"].strip(), f"{name}.theta is not {row['theta']}")


def cmd_check_mount(a):
    model, seen = Model(a.base), {}
    by_name = {t.name: t for t in model.tensors}
    names = expected_names(model)
    root = os.listdir(a.mount)
    for needed in ("manifest.json", "model.gguf", "theta.svg", "checksums.xxh128", ".theta", ".assemble", ".grafts",
                   ".undo", ".log", *CLASSES[:4]):
        check(needed in root, f"{needed} is missing")
    for directory in filter(root.__contains__, CLASSES):
        files, table = set(os.listdir(os.path.join(a.mount, directory))), {}
        check(".theta" in files, f"{directory}/.theta is missing")
        for file in files - {".theta"}:
            if file.endswith(".theta"):
                check(file.removesuffix("theta") + "bin" in files, f"{directory}/{file}: of what?")
                continue
            check(file.removesuffix("bin") + "theta" in files, f"{directory}/{file}: no theta")
            path = os.path.join(a.mount, directory, file)
            check(re.fullmatch(r"[A-Za-z0-9_+%~-][A-Za-z0-9_.+%~-]*\.bin", file),
                  f"{path}: not a plain name")
            t = check_organ(path, directory, model, by_name, a.grafted)
            check(t.name not in seen, f"{t.name!r} is both {path} and {seen.get(t.name)}")
            check(names[t.name] in (None, file[:-4]), f"{path} should be {names[t.name]}.bin")
            seen[t.name] = path
            table[file[:-4]] = t
            check_theta_file(path)
        check_table(a.mount, directory, table)
    check(len(seen) == len(by_name), f"missing: {sorted(set(by_name) - set(seen))[:5]}")


# ---- checking theta -------------------------------------------------------------------------

# Column of the reference, its column in a table, and the allowed difference there.
FIGURES = [("theta", "theta", 0.00501, 0), ("signal", "signal", 0.00000501, 0),
           ("entropy", "entropy", 0.000000501, 0), ("kurtosis", "kurtosis", 1e-9, 5.1e-6),
           ("cv", "spacing", 1e-9, 5.1e-6), ("dI", "magnitude", 0.000000501, 0)]


def near(told, expected, absolute, relative):
    if expected in ("null", "nan"):
        return told.strip() == "nan"
    wanted = float(expected)
    return abs(float(told) - wanted) <= max(absolute, relative * abs(wanted))


def cmd_check_theta(a):
    """Compare every figure of a mount with a table of the reference program."""
    with open(a.expected, encoding="utf-8") as f:
        header, *lines = [line.rstrip("\n").split("\t") for line in f]
    manifest = {row["name"]: row for row in strict_json(os.path.join(a.mount, "manifest.json"))
                ["tensors"]}
    tables = {row["file"]: row for directory in CLASSES
              if os.path.isdir(os.path.join(a.mount, directory))
              for row in read_table(a.mount, directory)}
    check(len(lines) == len(tables), f"{len(tables)} rows, not {len(lines)}")
    for wanted in (dict(zip(header, line)) for line in lines):
        told = manifest[wanted["tensor"]]
        row = tables[told["file"]]
        check(row["status"] == told["status"] == wanted["status"], f"{row} is not {wanted}")
        check((told["elements"], told["sampled"]) == (int(wanted["n"]), int(wanted["sampled"])),
              f"{told} is not {wanted}")
        for reference, column, absolute, relative in FIGURES:
            expected = wanted[reference]
            check(near(row[column], expected, absolute, relative), f"{column}: {row}, {wanted}")
            told_value = "nan" if told[column] is None else str(told[column])
            check(near(told_value, expected, absolute, relative), f"{column}: {told}, {wanted}")
            value = xattr(os.path.join(a.mount, told["file"]), column)
            check(value is None if expected == "null" or column == "theta" and value is None
                  else near(value.decode(), expected, 0.00501 if column == "theta" else 2e-9,
                            1e-8), f"{column}: {value!r}, {wanted}")


# ---- checking a manifest --------------------------------------------------------------------

def no_duplicates(pairs):
    keys = [k for k, _ in pairs]
    check(len(set(keys)) == len(keys), f"a JSON object repeats a key: {sorted(keys)}")
    return dict(pairs)


def no_constant(word):
    raise Wrong(f"{word} is no JSON")


def strict_json(path):
    with open(path, "rb") as f:
        text = f.read().decode("utf-8")
    return json.loads(text, object_pairs_hook=no_duplicates, parse_constant=no_constant)


def text_of(name):
    """JSON text of bytes that are UTF-8; None if their substitute is not defined."""
    try:
        return None if b"\0" in name else name.decode("utf-8")
    except UnicodeDecodeError:
        return None


def check_manifest_metadata(model, metadata):
    check(len(metadata) == len(model.kv), f"{len(metadata)} metadata keys, not {len(model.kv)}")
    for key, value in model.kv:
        key = text_of(key)
        if key is None:
            continue
        check(key in metadata, f"metadata lacks {key}")
        told = metadata[key]
        if value.type == ARRAY:
            check(isinstance(told, dict) and value.count in told.values(),
                  f"{key}: an array told as {told!r}")
        elif value.type == STRING:
            check(text_of(value.data) in (None, told), f"{key}: {told!r}")
        elif value.type == 7:
            check(told is (value.data != 0), f"{key}: {told!r}")
        elif value.type in (6, 12):
            check(not isinstance(told, (int, float)) or
                  struct.pack("<" + SCALARS[value.type], told) ==
                  struct.pack("<" + SCALARS[value.type], value.data), f"{key}: {told!r}")
        else:
            check(told == value.data or told == str(value.data), f"{key}: {told!r}")


def check_manifest_tensor(mount, model, t, told):
    expected = {"type": t.type_name, "elements": t.elements, "bytes": t.size,
                "offset": t.offset, "block": block_of(t.name)}
    for key, value in expected.items():
        check(told[key] == value, f"{t.name!r}: {key} is {told[key]!r}, not {value!r}")
    shape = told["shape"]
    check(shape == t.shape or shape == t.ne, f"{t.name!r}: the shape is {shape!r}")
    path = os.path.join(mount, *([] if "/" in told["file"] else [told["class"]]), told["file"])
    check(xattr(path, "tensor") == t.name, f"{t.name!r}: the file is {path}")
    check(xattr(path, "class") == told["class"].encode(), f"{t.name!r}: {told['class']}")


def check_manifest_classes(model, classes, tensors):
    def of(rows, key):
        return sum(row[key] for row in rows)

    for name, told in classes.items():
        rows = [row for row in tensors if row["class"] == name]
        check((told["tensors"], told["parameters"], told["bytes"]) ==
              (len(rows), of(rows, "elements"), of(rows, "bytes")), f"class {name}: {told}")
    check({row["class"] for row in tensors} <= set(classes), "a class is missing")


def key_name(key):
    """File name of a key."""
    out = b""
    for i, c in enumerate(key):
        c = bytes([c])
        plain = c > b"\x1f" and c not in b"\x7f/%~" and not (i == 0 and c == b".")
        out += c if plain else b"%%%02X" % ord(c)
    return out


def is_text_of(value, text):
    """Check that a file's text has this value, as Python reads it, and one newline at its end."""
    check(text.endswith(b"\n"), "no newline")
    text = text[:-1]
    if value.type == STRING:
        return text == value.data
    check(b"\n" not in text, "more than one line")
    text = text.decode()
    if value.type == ARRAY:
        values, elements = json.loads(text), value.model.elements_of(value)
        if value.element == STRING:
            values = [v.encode("utf-8", "surrogateescape") for v in values]
        return values == elements
    if value.type == 7:
        return text == ("true" if value.data else "false")
    if value.type == 6:
        return struct.pack("<f", float(text)) == struct.pack("<f", value.data)
    return (float(text) if value.type == 12 else int(text)) == value.data


def type_text(value):
    names = {v: k for k, v in NAMES.items()}
    return f"array of {names[value.element]}" if value.type == ARRAY else names[value.type]


def cmd_check_metadata(a):
    """Check that a directory of metadata has a file for each key, with its text, and no other."""
    model = Model(a.base)
    directory = os.fsencode(a.directory)
    check(sorted(os.listdir(directory)) == sorted(key_name(k) for k, _ in model.kv), "the names")
    for key, value in model.kv:
        path = os.path.join(directory, key_name(key))
        with open(path, "rb") as f:
            text = f.read()
        check(os.stat(path).st_size == len(text), f"{key!r}: its size is not its length")
        check(is_text_of(value, text), f"{key!r} is told as {text[:100]!r}")
        told = os.getxattr(path, "user.organfs.type").decode()
        check(told == type_text(value), f"{key!r} is of type {told}")


def cmd_check_manifest(a):
    model = Model(a.base)
    told = strict_json(os.path.join(a.mount, "manifest.json"))
    about, tensors = told["model"], told["tensors"]
    check(isinstance(told["organfs"], (str, dict)), "no organfs version")
    parameters = sum(t.elements for t in model.tensors)
    expected = {"size": model.size, "alignment": model.alignment, "parameters": parameters,
                "gguf_version": model.version}
    for key, value in expected.items():
        check(about[key] == value, f"model: {key} is {about[key]!r}, not {value!r}")
    for key in ("name", "architecture", "file", "bits_per_weight"):
        check(key in about, f"model lacks {key}")
    if parameters:
        bits = sum(t.size for t in model.tensors) * 8 / parameters
        check(abs(about["bits_per_weight"] - bits) < 0.01, f"{about['bits_per_weight']} bits")
    check_manifest_metadata(model, told["metadata"])
    check(len(tensors) == len(model.tensors), f"{len(tensors)} tensors")
    for t, row in zip(model.tensors, tensors):
        check(text_of(t.name) in (None, row["name"]), f"{t.name!r} is told as {row['name']!r}")
        check_manifest_tensor(a.mount, model, t, row)
    check_manifest_classes(model, told["classes"], tensors)


# ---- command line ---------------------------------------------------------------------------

def bytes_count(text):
    unit = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}.get(text[-1], 1)
    return int(text.rstrip("KMG")) * unit


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    def command(name, function, names, text):
        sub = commands.add_parser(name, help=text)
        for each in names.split():
            sub.add_argument(each)
        sub.set_defaults(function=function)
        return sub

    command("organs", cmd_organs, "file", "list tensors: name, type, shape, offset, bytes")
    command("gguf-hash", cmd_gguf_hash, "file name", "the hashes that llama-gguf-hash prints")
    command("organ", cmd_organ, "file tensor out", "write one tensor as an organ file")
    command("check-theta", cmd_check_theta, "expected mount",
            "compare every figure with a table of the reference program")
    sub = command("check-mount", cmd_check_mount, "base mount", "compare a tree with its model")
    sub.add_argument("--grafted", action="store_true", help="extents may lie elsewhere")
    command("check-manifest", cmd_check_manifest, "base mount", "compare manifest.json with it")
    command("splice", cmd_splice, "base donor pattern out", "graft tensors of the same size")
    sub = command("relayout", cmd_relayout, "base donor pattern out", "graft, sizes change")
    sub.add_argument("--any-shape", action="store_true", help="take the donor's shape too")
    sub = command("edit", cmd_edit, "base out", "change metadata: KEY=TYPE:VALUE, KEY= removes")
    sub.add_argument("edits", nargs="*")
    command("check-metadata", cmd_check_metadata, "base directory", "compare metadata with it")
    sub = command("variant", cmd_variant, "base out", "write a model in another container")
    sub.add_argument("--version", type=int, choices=(1, 2, 3))
    sub.add_argument("--align", type=int)
    sub.add_argument("--trailing", type=int, default=0, help="bytes behind the data")
    sub.add_argument("--vocab", action="store_true", help="metadata only, no tensors")
    sub = command("split", cmd_split, "base prefix", "write a model as shards")
    sub.add_argument("n", type=int)
    sub = command("shard", cmd_shard, "base out no count total", "write one shard of some tensors")
    sub.add_argument("tensors", nargs="+")
    command("bigendian", cmd_bigendian, "base out", "write a model in the other byte order")
    sub = command("synth", cmd_synth, "out", "make a big model, sparse")
    sub.add_argument("--tensors", type=int, default=1100)
    sub.add_argument("--vocab", type=int, default=160000)
    sub.add_argument("--size", type=bytes_count, default=40 << 30)
    sub.add_argument("--organ", type=bytes_count, default=0, help="bytes of blk.0.ffn_up")
    sub.add_argument("--fill", action="store_true", help="with data, not sparse")
    sub = command("matrix", cmd_matrix, "out type", "make a model of one tensor")
    sub.add_argument("rows", type=int)
    sub.add_argument("--sparse", action="store_true", help="with a hole for data")
    sub = command("small", cmd_small, "out", "make a model of many organs of 8 KiB, two a block")
    sub.add_argument("blocks", type=int)
    sub.add_argument("--seed", type=int, default=1)
    command("qwen", cmd_qwen, "out", "make a model like Qwen2.5-7B in Q4_K_M, 4.7 GB")
    sub = command("experts", cmd_experts, "base out", "make a dense model one of experts")
    sub.add_argument("n", type=int)
    sub = command("nextn", cmd_nextn, "base out", "make a model of one nextn block's tensors")
    sub.add_argument("--up-type", type=int, default=0, help="of ffn_up, which no ggml has")
    command("hostile", cmd_hostile, "outdir", "make models with evil tensor names")
    return parser.parse_args()


def main():
    a = arguments()
    try:
        a.function(a)
    except Wrong as wrong:
        sys.exit(f"gguf: {wrong}")
    except (OSError, struct.error, KeyError, ValueError) as error:
        sys.exit(f"gguf: {type(error).__name__}: {error}")

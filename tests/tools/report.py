#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""report.py - a second opinion on .report.json: checks that it is valid JSON of the size in its
attributes, and compares it with the other files of the mount and with figures computed here from
the values.

    report.py check MOUNT           of a model, with .theta, CLASS/.theta, .grafts, attributes
    report.py models MOUNT          of several, with .theta of the root and of each model
    report.py values MODEL JSON TYPE...
                                    figures, with the values of these types in a GGUF
    report.py same JSON TABLES      the output of --report --json, with a mount's tables
"""
import math
import os
import re
import struct
import sys
from urllib.parse import unquote_to_bytes

from gguf import Model, Wrong, check, read_table, strict_json, xattr

FIGURES = ("theta", "signal", "entropy", "kurtosis", "spacing", "magnitude",
           "min", "max", "mean", "deviation", "zeros")
LIMIT = 16          # tensors of a type whose values are decoded here
LOOKED_AT = 200     # tensors of a model whose attributes are read
UNTOLD = ("size", "base", "layer", "added", "removed", "grafted", "converted", "merged", "graft")


def read(path):
    before = os.stat(path).st_size
    report = strict_json(path)
    with open(path, "rb") as f:
        check(len(f.read()) == before == os.stat(path).st_size, f"{path}: its size is not its length")
    check(report["format"] == 1, f"{path}: format {report['format']}")
    return report


def number(text):
    value = None if text is None else float(text)
    return None if value is None or math.isnan(value) else value


def text_of(name):
    return name.decode("utf-8", "replace") if isinstance(name, bytes) else name


# ---- a model ------------------------------------------------------------------------------------

def check_attributes(mount, told):
    path = os.path.join(mount, told["file"])
    for name in FIGURES:
        value = xattr(path, name)
        check(number(value) == told[name], f"{path}: {name} is {told[name]}, not {value}")
    for name, value in ("type", told["type"]), ("class", told["class"]), \
            ("shape", "x".join(map(str, told["shape"]))):
        check(xattr(path, name) == value.encode(), f"{path}: {name} is {value}")
    name = xattr(path, "tensor")
    check(b"\0" in name or "\ufffd" in told["tensor"] or text_of(name) == told["tensor"],
          f"{path}: {name} is told as {told['tensor']}")
    block = xattr(path, "block")
    check((None if block is None else int(block)) == told["block"], f"{path}: block {block}")
    with open(path[:-3] + "theta", encoding="ascii") as f:
        check(number(f.read()) == told["theta"], f"{path}: θ is {told['theta']}")


def check_tables(mount, report):
    rows = {}
    for directory in report["classes"]:
        rows |= {row["file"]: row for row in read_table(mount, directory)}
    check(set(rows) == {told["file"] for told in report["tensors"]}, "other tensors than the tables")
    for told in report["tensors"]:
        row = rows[told["file"]]
        check((row["type"], int(row["elements"]), row["status"]) ==
              (told["type"], told["elements"], told["status"]), f"{row} is not {told}")
        for name in FIGURES:
            value, wanted = number(row[name]), told[name]
            near = (0.5000001 * 10 ** -{"signal": 5}.get(name, 6) if name in
                    ("signal", "entropy", "magnitude") else 5.01e-6 * abs(wanted or 0)
                    if name in ("kurtosis", "spacing") else 0)
            check(value is wanted is None or abs(value - wanted) <= near, f"{name}: {row}, {told}")


def check_means(mount, report):
    with open(os.path.join(mount, ".theta"), encoding="utf-8") as f:
        lines = [line.split() for line in f if not line.startswith("#")]
    words = {(line[0], line[1]): line[2:] for line in lines if len(line) > 2}
    about, theta = report["model"], report["theta"]
    check(int(words["model", "parameters"][0]) == about["parameters"], "parameters")
    check(int(words["model", "tensors"][0].split("/")[0]) == about["tensors"], "tensors")
    check(int(words["model", "grafts"][0]) == about["grafts"], "grafts")
    mean, weighted = words["mean", "tensors"], words["mean", "elements"]
    check([number(x) for x in mean[:2] + weighted[:2]] ==
          [theta[x] for x in ("theta", "signal", "theta_elements", "signal_elements")],
          f"{mean}, {weighted} are not {theta}")
    check(int(mean[3]) == theta["measured"], f"{mean}")
    for name, told in report["classes"].items():
        check([number(x) for x in words["class", name][:5]] ==
              [told[x] for x in ("tensors", "least", "theta", "most", "signal")], f"{name}: {told}")
    for name, told in report["kinds"].items():
        check([number(x) for x in words["kind", name][:3]] ==
              [told[x] for x in ("tensors", "theta", "signal")], f"{name}: {told}")
    check({b for a, b in words if a in ("class", "kind")} == {*report["classes"], *report["kinds"]},
          "other classes or kinds")


def check_sums(report):
    for groups, key in ("classes", "class"), ("kinds", "kind"), ("roles", "role"):
        members = {}
        for row in report["tensors"]:
            members.setdefault(row[key], []).append(row)
        for name, told in report[groups].items():
            rows = members.get(name, [])
            check((told["tensors"], told["parameters"], told["bytes"], told["measured"]) ==
                  (len(rows), sum(row["elements"] for row in rows), sum(row["bytes"] for row in rows),
                   sum(row["theta"] is not None for row in rows)), f"{name}: {told}")
        check(set(members) == set(report[groups]), groups)


def decoded(field):
    return None if field == "-" else text_of(unquote_to_bytes(field))


def check_grafts(mount, report):
    with open(os.path.join(mount, ".grafts"), encoding="ascii") as f:
        lines = {line.split("\t")[0]: line.rstrip("\n").split("\t") for line in f
                 if not line.startswith(("metadata/", "adapters/"))}
    removed = {file for file, line in lines.items() if line[1] == "removed"}
    check(removed == {row["file"] for row in report["removed"]}, f"removed: {removed}")
    check(len(removed) == report["model"]["removed"], "how many were removed")
    check(sum(row["added"] for row in report["tensors"]) == report["model"]["added"], "added")
    for row in report["tensors"]:
        line, graft = lines.get(row["file"]), row["graft"]
        check((graft is not None) == row["grafted"], f"{row}")
        if line is None or line[1] == "merged":
            check(graft is None and (line is not None) == row["merged"], f"{row}")
            continue
        how, kind, shape, size, organ, time, file, tensor = line[1:]
        check((kind, shape, int(size)) == (row["type"], "x".join(map(str, row["shape"])),
                                           row["bytes"]), f"{line} is not {row}")
        if how.endswith(" merged"):
            continue
        told = [graft[x] for x in ("how", "organ", "time", "file", "tensor")]
        check(told == [how, decoded(organ), time, decoded(file), decoded(tensor)] or
              "\ufffd" in str(told), f"{line} is not {graft}")


def cmd_check(mount):
    report = read(os.path.join(mount, ".report.json"))
    tensors = report["tensors"]
    check(len(tensors) == report["model"]["tensors"], "how many tensors there are")
    for told in tensors[::max(1, len(tensors) // LOOKED_AT)]:
        check_attributes(mount, told)
    check_tables(mount, report)
    check_means(mount, report)
    check_sums(report)
    check_grafts(mount, report)


# ---- several models -----------------------------------------------------------------------------

def cmd_models(mount):
    report = read(os.path.join(mount, ".report.json"))
    with open(os.path.join(mount, ".theta"), encoding="utf-8") as f:
        text = f.read()
    for told in report["models"]:
        own = read(os.path.join(mount, told["directory"], ".report.json"))
        for part in "model", "theta", "classes", "kinds", "roles":
            check(told[part] == own[part], f"{told['directory']}: {part}")
    ranks = [line.split(None, 7)[1:] for line in re.findall(r"(?m)^model .*$", text)]
    check([[number(x) for x in rank[:6]] + rank[6:] for rank in ranks] ==
          [[row[x] for x in ("rank", "theta_elements", "theta", "signal", "parameters", "tensors",
                             "directory")] for row in report["ranking"]], f"{report['ranking']}")
    laws = {line.split()[1].split("/")[0]: [None if x == "-" else float(x) for x in line.split()[2:]]
            for line in re.findall(r"(?m)^law .*$", text)}
    check(laws == {name: [law[x] for x in ("a", "b", "r", "models")]
                   for name, law in (report["law"] or {}).items()}, f"{laws}, {report['law']}")
    ranges = {line.split()[1]: line.split()[2:] for line in re.findall(r"(?m)^class .*$", text)}
    check({name: [number(row[0]), number(row[1]), row[2], number(row[3]), row[4]]
           for name, row in ranges.items()} ==
          {name: [row["tensors"], row["least"], row["least_of"] or "-", row["most"],
                  row["most_of"] or "-"] for name, row in report["ranges"].items()}, f"{ranges}")


# ---- values -------------------------------------------------------------------------------------

SPAN, SPANS, MOST = 256, 390, 100_000
SIZES = {"F32": (1, 4), "F16": (1, 2), "Q8_0": (32, 34), "Q4_K": (256, 144)}


def spans(n):
    """First element and length of each sampled span (measure/sample.h)."""
    if n <= MOST:
        return [(0, n)]
    tiles, out, last = -(-n // SPAN), [], -1
    for i in range(SPANS):
        jitter = i * 2654435769 & 0xffffffff
        last = max(((i << 32) + jitter) * tiles // (SPANS << 32), last + 1)
        out.append((last * SPAN, min(SPAN, n - last * SPAN)))
    return out


def rounded(x):
    """Round to a float, as a product of two is."""
    return struct.unpack("<f", struct.pack("<f", x))[0]


def of_q8_0(block):
    scale, *q = struct.unpack("<e32b", block)
    return [scale * x for x in q]


def of_q4_k(block):
    scale, least = struct.unpack_from("<2e", block)
    s, q, out = block[4:16], block[16:], []
    for j in range(8):
        if j < 4:
            d, m = s[j] & 63, s[j + 4] & 63
        else:
            d, m = s[j + 4] & 15 | s[j - 4] >> 6 << 4, s[j + 4] >> 4 | s[j] >> 6 << 4
        for x in q[32 * (j // 2):32 * (j // 2 + 1)]:
            out.append(rounded(rounded(scale * d) * (x >> 4 if j & 1 else x & 15)
                               - rounded(least * m)))
    return out


def values_of(kind, data):
    if kind in ("F32", "F16"):
        code, size = ("f", 4) if kind == "F32" else ("e", 2)
        return struct.unpack(f"<{len(data) // size}{code}", data)
    size, decode = SIZES[kind][1], of_q8_0 if kind == "Q8_0" else of_q4_k
    return [x for at in range(0, len(data), size) for x in decode(data[at:at + size])]


def sampled(model, t):
    elements, size = SIZES[t.type_name]
    out = []
    for start, count in spans(t.elements):
        at = t.offset + start // elements * size
        out += values_of(t.type_name, model.bytes[at:at + -(-count // elements) * size])[:count]
    return out


def check_values(t, told, values):
    n = len(values)
    mean = math.fsum(values) / n
    deviation = math.sqrt(math.fsum((x - mean) ** 2 for x in values) / n)
    near = 5.1e-9 * max(abs(min(values)), abs(max(values)))
    for name, value in ("min", min(values)), ("max", max(values)), ("mean", mean), \
            ("deviation", deviation), ("zeros", values.count(0) / n):
        check(abs(told[name] - value) <= (5.1e-9 if name == "zeros" else near),
              f"{told['tensor']}: {name} is {told[name]}, not {value}")
    check((told["sampled"], told["elements"]) == (n, t.elements), f"{told['tensor']}: {told}")


def cmd_values(base, path, *kinds):
    model, report = Model(base), strict_json(path)
    seen = dict.fromkeys(kinds, 0)
    for t, told in zip(model.tensors, report["tensors"]):
        check(t.name.decode() == told["tensor"], f"{t.name} is {told['tensor']}")
        if seen.get(t.type_name, LIMIT) < LIMIT:
            check_values(t, told, sampled(model, t))
            seen[t.type_name] += 1
    check(kinds and all(seen.values()), f"there are {seen}")


# ---- tables -------------------------------------------------------------------------------------

def without(value, told):
    """The value without the keys in UNTOLD, which are null in a report from tables (told)."""
    if isinstance(value, dict):
        for key in UNTOLD:
            check(not (told and value.get(key) is not None), f"{key} is {value.get(key)}")
        return {k: without(v, told) for k, v in value.items() if k not in UNTOLD}
    return [without(v, told) for v in value] if isinstance(value, list) else value


def cmd_same(mounted, of_tables):
    a, b = without(strict_json(mounted), False), without(strict_json(of_tables), True)
    check(a.keys() == b.keys(), f"{a.keys()}, {b.keys()}")
    # Models stand in mount order in one report, and by name in the other.
    if "models" in a:
        for report in a, b:
            report["models"].sort(key=lambda model: model["directory"])
    for key in a:
        check(a[key] == b[key], f"{key}: {a[key]} is not {b[key]}")


def main():
    commands = {"check": cmd_check, "models": cmd_models, "values": cmd_values, "same": cmd_same}
    try:
        commands[sys.argv[1]](*sys.argv[2:])
    except Wrong as wrong:
        sys.exit(f"report.py {' '.join(sys.argv[1:])}: {wrong}")


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""graft_loss.py ORGANFS LLAMA-PERPLEXITY BASE DONOR TEXT...: does θ predict the effect of a graft?

Grafts every tensor of DONOR by itself, and every class, into BASE in a mount, and runs
llama-perplexity on model.gguf there with each TEXT. Prints a line for each graft, between tabs:
class and tensor, number of values, θ in BASE and in DONOR, and the perplexity of each text. Then,
for the matrices, Spearman's rank correlation of the donor's θ, and of the distance of the two θ,
with the fall of each log perplexity: over all, and over each number of values."""
import contextlib
import itertools
import math
import os
import re
import subprocess
import sys
import tempfile

CLASSES = "skeleton", "organs", "embed", "norm"
CONTEXT = "256"


def perplexity(program, model, text):
    """The perplexity that the program prints at its end. stdout and stderr mix in one pipe. On a
    busy machine the program may end before all its output has been written, so it runs again."""
    for _ in range(5):
        run = subprocess.run([program, "-m", model, "-f", text, "-c", CONTEXT], text=True,
                             check=True, capture_output=True)
        found = re.search(r"Final estimate: PPL = ([0-9.]+)", run.stdout + run.stderr)
        if found:
            return float(found[1])
    sys.exit(f"{program} says no perplexity of {text}:\n{run.stdout}{run.stderr}")


@contextlib.contextmanager
def mounted(organfs, model, directory):
    """A mount by an organfs in its build folder, without an organfs-umount in the path."""
    os.mkdir(directory)
    subprocess.run([organfs, "-o", "noassemble,fresh,samples=all", model, directory], check=True)
    try:
        yield directory
    finally:
        subprocess.run(["fusermount3", "-u", directory], check=True)


def contents(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def copy(source, to):
    subprocess.run(["cp", *source, to], check=True)


def values(organ):
    shape = os.getxattr(organ, "user.organfs.shape").decode()
    return math.prod(map(int, shape.split("x")))


def ranks(numbers):
    """Ranks from 0 on; equal numbers have the mean of their ranks."""
    ordered = sorted(numbers)
    return [(ordered.index(n) + len(ordered) - 1 - ordered[::-1].index(n)) / 2 for n in numbers]


def correlation(a, b):
    a, b = ranks(a), ranks(b)
    mean = (len(a) - 1) / 2
    both = sum((x - mean) * (y - mean) for x, y in zip(a, b))
    each = math.prod(sum((x - mean) ** 2 for x in side) for side in (a, b))
    return both / math.sqrt(each) if each else math.nan


def correlations(rows, alone):
    """Yield both correlations for each text as cells; alone: the perplexities of BASE."""
    for text, before in enumerate(alone):
        gains = [math.log(before) - math.log(row[4][text]) for row in rows]
        theta = correlation([row[3] for row in rows], gains)
        apart = correlation([abs(row[3] - row[2]) for row in rows], gains)
        yield f"{theta:.2f}\t{apart:.2f}"


def main(organfs, program, base, donor, *texts):
    with tempfile.TemporaryDirectory() as home, \
            mounted(organfs, base, f"{home}/mnt") as mnt, \
            mounted(organfs, donor, f"{home}/donor") as giver:
        def measure(*names):
            for klass, organs in itertools.groupby(names, os.path.dirname):
                copy([f"{giver}/{organ}" for organ in organs], f"{mnt}/{klass}/")
            read = [perplexity(program, f"{mnt}/model.gguf", text) for text in texts]
            with open(f"{mnt}/.undo", "w", encoding="utf-8") as undo:
                undo.write("all\n")
            return read

        def line(name, *figures):
            print(name, *figures, sep="\t", flush=True)

        alone = [perplexity(program, f"{mnt}/model.gguf", text) for text in texts]
        line("nothing", "", "", "", *alone)
        matrices = []
        for klass in CLASSES:
            names = [f"{klass}/{name}" for name in sorted(os.listdir(f"{mnt}/{klass}"))
                     if name.endswith(".bin")]
            for name in names:
                organ = f"{mnt}/{name}"
                theta = [float(contents(f"{side}/{name[:-4]}.theta")) for side in (mnt, giver)]
                row = name, values(organ), *theta, measure(name)
                line(*row[:4], *row[4])
                if b"x" in os.getxattr(organ, "user.organfs.shape"):
                    matrices.append(row)
            line(klass, "", "", "", *measure(*names))
        sizes = sorted({row[1] for row in matrices})
        for size, name in [(None, "all"), *((size, size) for size in sizes)]:
            rows = [row for row in matrices if size in (None, row[1])]
            if len(rows) > 2:
                line(f"correlations: {name}", len(rows), *correlations(rows, alone))


if len(sys.argv) < 6:
    sys.exit(__doc__)
main(*sys.argv[1:])

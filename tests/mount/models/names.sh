#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Every tensor name of llama.cpp's Python package gguf, vision and audio included, has a row in
# gguf/tensor_classes.tsv or matches a pattern below, whose words decide.
. "${0%/*}/../lib.sh"

# -P excludes another module of that name.
python3 -P -c 'import gguf.constants' 2>/dev/null || skip 'no Python package gguf'
python3 -P - "$here/../../gguf/tensor_classes.tsv" <<'END' || fail 'give these names a row'
import fnmatch
import re
import sys
from gguf.constants import TENSOR_NAMES

# {n} stands for a number. Norms are norms in any place.
FALLBACK = """
*norm*
blk.{n}.attn_*
blk.{n}.ffn_*
blk.{n}.hc_attn_*
blk.{n}.hc_ffn_*
nextn.hc_head_*
blk.{n}.nextn.hc_head_*
selector_*
blk.{n}.selector_*
lilicorr.*
a.seanet.*
a.gen.*
*embd*
""".split()


def row(pattern):
    text = re.escape(pattern).replace(re.escape("{n}"), r"(\{n\}|\d+)")
    return re.compile(text.replace(re.escape("{s}"), "[^._]+"))


with open(sys.argv[1]) as table:
    rows = [row(line.split("\t")[0]) for line in table if not line.startswith("{base}")][1:]
names = sorted({re.sub(r"\{\w+\}", "{n}", name) for name in TENSOR_NAMES.values()})
unknown = [name for name in names if not any(r.fullmatch(name) for r in rows)
           and not any(fnmatch.fnmatchcase(name, p) for p in FALLBACK)]
print(f"{len(names)} names, of which {len(unknown)} are unknown", *unknown, sep="\n")
sys.exit(bool(unknown) or not names)
END

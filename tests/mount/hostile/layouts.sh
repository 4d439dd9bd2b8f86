#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Models with other offsets, types and lengths than their tensors need: tables, .check, reads,
# grafts and model.gguf notice every overlap.
# timeout: 300
. "${0%/*}/../lib.sh"

short=$here/../tools/short.py
seed=${SEED:-$RANDOM}
echo "SEED=$seed"
"$here/../tools/layouts.py" forks "$TMP/base.gguf"
mkdir "$TMP/models"
"$short" mutants "$TMP/base.gguf" "$TMP/models" "${MUTANTS:-$(rounds 500 60)}" "$seed"
mount_model -o noassemble,samples=1000 "$TMP/models"
"$short" check "$TMP/models" "$MNT"
unmount_and_wait

#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# A configuration in .merge on two models agrees with the formulas in NumPy, also for every method
# with random parameters, gradients and filters on small tensors; the bytes are the same in an
# organ, in model.gguf, and in the file that .assemble writes.
. "${0%/*}/../lib.sh"

PYTHON=/usr/bin/python3
$PYTHON -c 'import numpy' 2>/dev/null || skip 'no numpy'
base=$(use scribe-Q4_K_M) donor=$(use clerk-Q4_K_M)
cd "$TMP"

# config METHOD [PARAMETERS]: merge the donor over the base.
config() {
	echo "merge_method: $1"
	echo 'base_model: scribe-Q4_K_M'
	echo 'dtype: float32'
	echo "parameters: {${2-}}"
	echo 'models:'
	[ "$1" != slerp ] || echo '- model: scribe-Q4_K_M'
	echo '- model: ./clerk-Q4_K_M.gguf'
}

# keep_views NAME: save the files of the compared tensors.
keep_views() {
	mkdir "$1"
	(cd "$MNT/.views/npy" && cp --parents skeleton/blk_0_attn_q.npy organs/blk_3_ffn_down.npy \
		norm/blk_5_attn_norm.npy "$TMP/$1")
}

mount_model -o ro,fresh "$donor"
keep_views donor
unmount_and_wait
mount_model -o noassemble "$base"
keep_views base
for method in 'task_arithmetic weight: 0.5, lambda: 0.9' 'slerp t: [0.2, 0.8]' \
	'ties weight: 0.7, density: 0.4' 'dare_linear weight: 1, density: 0.5' \
	'breadcrumbs weight: 1, density: 0.8, gamma: 0.05'; do
	config "${method%% *}" "${method#* }" >"$MNT/.merge" || fail "$(tail -n 1 "$MNT/.log")"
	$PYTHON "$here/../tools/merged.py" "$MNT" . "${method%% *}"
done

config ties 'weight: 0.7, density: 0.4' >ties.yml
sed -i '/^dtype/d' ties.yml
cp ties.yml "$MNT/.merge"
grep -q ' 57 tensors .* 44 .*another type' "$MNT/.log" ||
	fail "the change of types is not reported: $(tail -n 1 "$MNT/.log")"
same ties.yml "$MNT/.merge"
cp "$MNT/model.gguf" whole.gguf
echo written.gguf >"$MNT/.assemble" || fail "$(cat "$MNT/.assemble")"
same whole.gguf written.gguf
assembly_says ' 0 grafts, 57 merged, '
cp -r "$MNT/organs" organs
unmount_and_wait
mount_model -o ro,fresh written.gguf
for organ in organs/*.bin; do
	same "$organ" "$MNT/$organ"
done
unmount_and_wait

$PYTHON "$here/../tools/merge_random.py" models .
mount_model -o noassemble base.gguf
$PYTHON "$here/../tools/merge_random.py" check "$MNT"
unmount_and_wait

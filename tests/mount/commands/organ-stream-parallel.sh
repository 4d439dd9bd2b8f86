#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# plain: tests programs of others
# release: needs GNU parallel
# Many parallel organ-streams, each with its own table, give the report of a single one: with GNU
# parallel, and as tasks of a Slurm array.
. "${0%/*}/../lib.sh"

need parallel curl flock
PATH=$here/../../mount-helpers:${ORGANFS%/*}:$PATH
export PARALLEL_HOME=$TMP/parallel
mkdir "$TMP/parallel" && touch "$TMP/parallel/will-cite"
all='clerk-Q4_K_M scribe-Q4_K_M stories260K stories260K-donor stories260K-q8_0 types types-stress'
paths=()
for name in $all; do
	paths+=("$MODELS/$name.gguf")
done
printf '%s\n' "${paths[@]}" >"$TMP/list"
mount_daemon -o ro "${paths[@]}" "$MNT"
cat "$MNT/.theta" >"$TMP/whole"
unmount_and_wait

cd "$TMP"
job='echo {} | organ-stream - table.{#}.tsv'
parallel -j2 --joblog log -a list "$job" >"$TMP/out" 2>&1 || fail "$(cat "$TMP/out")"
"$ORGANFS" --report table.*.tsv >"$TMP/report"
same "$TMP/report" "$TMP/whole"
equal "$(ls table.* | wc -l)" 7
# A second start has nothing to do.
parallel -j2 --resume --joblog log -a list "$job" >"$TMP/out"
equal "$(cat "$TMP/out")" ''

cat >"$TMP/stream.sh" <<'END'
#!/bin/sh
#SBATCH --array=1-7
sed -n "${SLURM_ARRAY_TASK_ID}p" list | organ-stream - array.$SLURM_ARRAY_TASK_ID.tsv
END
chmod +x "$TMP/stream.sh"
for task in 1 2 3 4 5 6 7; do
	SLURM_ARRAY_TASK_ID=$task "$TMP/stream.sh" >"$TMP/out.$task" 2>&1 &
done
wait
"$ORGANFS" --report array.*.tsv >"$TMP/report"
same "$TMP/report" "$TMP/whole"

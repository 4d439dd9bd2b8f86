#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# A merge that names the base uses the mount's open file, wherever the path leads now: into the
# mount itself, to another file, or nowhere.
. "${0%/*}/../lib.sh"

base=$(use scribe-Q4_K_M) donor=$(use clerk-Q4_K_M)
cd "$TMP"
printf 'merge_method: linear\nparameters: {weight: 1}\nmodels:\n' >m.yml
printf -- '- model: %s\n' scribe-Q4_K_M clerk-Q4_K_M >>m.yml

mkdir own
cp -p "$base" own/
mount_model -o "noassemble,layer=$TMP/layer" own/scribe-Q4_K_M.gguf
cp m.yml "$MNT/.merge"
cp "$MNT/model.gguf" merged.gguf
# Another file is in its place, then none.
cp -p own/scribe-Q4_K_M.gguf kept.gguf
cp "$donor" other.gguf
mv other.gguf own/scribe-Q4_K_M.gguf
cp m.yml "$MNT/.merge"
same "$MNT/model.gguf" merged.gguf
rm own/scribe-Q4_K_M.gguf
cp m.yml "$MNT/.merge"
same "$MNT/model.gguf" merged.gguf
unmount_and_wait
cp -p kept.gguf own/scribe-Q4_K_M.gguf

# The mount hides the directory in which the base lies.
mount_model -o "noassemble,nonempty,layer=$TMP/layer" own/scribe-Q4_K_M.gguf "$TMP/own"
in_time 20 cmp own/model.gguf merged.gguf || fail 'merged bytes are not read'
unmount_and_wait "$TMP/own"

# The mount also hides another model's directory, which nothing waits for.
cp -p "$donor" own/
sed "s|clerk-Q4_K_M|$TMP/own/clerk-Q4_K_M|" m.yml >other.yml
mount_model -o "noassemble,layer=$TMP/layer-other" own/scribe-Q4_K_M.gguf
cp other.yml "$MNT/.merge"
same "$MNT/model.gguf" merged.gguf
unmount_and_wait
mount_model -o "noassemble,nonempty,layer=$TMP/layer-other" own/scribe-Q4_K_M.gguf "$TMP/own"
expect_fail 'input/output error' in_time 20 cat "$TMP/own/model.gguf"
unmount_and_wait "$TMP/own"

# The base was moved since the last mount.
mv own/scribe-Q4_K_M.gguf moved.gguf
mount_model -o "noassemble,layer=$TMP/layer" moved.gguf
same "$MNT/model.gguf" merged.gguf
unmount_and_wait

#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# timeout: 3000
# The power is cut after each change of the disk by a session of edits. The disk then has the last
# flushed state of each file and directory, or any state since. The next mount has all confirmed
# changes, no half change, and is never refused.
#
# REPLAY=all checks every state, else a sample.
. "${0%/*}/../lib.sh"

disk=${ORGANFS%/*}/tests/tools/organfs-disk
[ -x "$disk" ] || skip "$disk is not built"
need setfattr
base=$(use stories260K)
mkdir "$TMP/donor"
for name in blk.0.ffn_up blk.1.ffn_up blk.2.ffn_up blk.2.attn_norm; do
	"$GGUF" organ "$MODELS/stories260K-donor.gguf" $name.weight "$TMP/donor/${name//./_}.bin"
done
# Two organs are files of the layer, one of them compressed.
"$GGUF" organ "$base" token_embd.weight "$TMP/donor/token_embd.bin"
printf 'other' | dd of="$TMP/donor/token_embd.bin" bs=1 seek=100 conv=notrunc status=none
head -c 20000 "$TMP/donor/token_embd.bin" >"$TMP/donor/shrinks.bin"
truncate -r "$TMP/donor/token_embd.bin" "$TMP/donor/shrinks.bin"
"$LORA" make "$base" "$TMP/donor/style.gguf" 'blk.[01].attn_q.weight'

count=$(rounds 100 8)
export SEED=${SEED:-$RANDOM} # of the sample
echo "seed $SEED"
[ "${REPLAY-}" != all ] || count=
for kind in named private; do
	mkdir "$TMP/$kind"
	# shellcheck disable=SC2086
	python3 "$here/../tools/replay.py" "$ORGANFS" "$disk" "$base" "$TMP/donor" "$TMP/$kind" \
		$kind $count || fail "$kind"
done

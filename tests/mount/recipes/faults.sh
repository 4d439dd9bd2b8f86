#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# timeout: 600
# A failing disk, or a power cut, at each call of a replay, with a merge and without: the whole
# recipe is in force or nothing, at once and at the next mount.
. "${0%/*}/../lib.sh"

faulty=${ORGANFS%/*}/tests/tools/organfs-faults
[ -x "$faulty" ] || skip "$faulty is not built"
base=$(use stories260K)
donor=$MODELS/stories260K-donor.gguf
"$LORA" make "$base" "$TMP/style.gguf" 'blk.[01].attn_q.weight'
mkdir "$TMP/donor"
mount_model -o ro "$donor" "$TMP/donor"
mount_model -o "layer=$TMP/full" "$base"
cp "$TMP/donor/organs/blk_0_ffn_up.bin" "$MNT/organs/"
cp "$MNT/.base/organs/blk_1_ffn_up.bin" "$MNT/organs/blk_9_ffn_up.bin"
ln -f "$MNT/skeleton/blk_2_attn_q.bin" "$MNT/skeleton/blk_3_attn_q.bin"
ln -sf "$TMP/donor/skeleton/blk_1_attn_q.bin" "$MNT/skeleton/blk_1_attn_q.bin"
rm "$MNT/norm/blk_2_attn_norm.bin"
echo other >"$MNT/metadata/general.name"
ln -s "$TMP/style.gguf" "$MNT/adapters/style.gguf"
echo 0.5 >"$MNT/adapters/style.scale"
record() {
	mkdir "$TMP/$1"
	cut -f 1,2 "$MNT/.grafts" | sed s/reference/link/ | sort >"$TMP/$1/grafts"
	cp "$MNT/model.gguf" "$TMP/$1/whole.gguf"
	cp "$MNT/.recipe" "$TMP/$1/recipe.yml"
	unmount_and_wait
}
record alone
mount_model -o "layer=$TMP/over" "$base"
printf 'merge_method: linear\nmodels:\n' >"$TMP/merge.yml"
printf -- '- {model: %s, parameters: {weight: 0.5}}\n' "$base" "$donor" >>"$TMP/merge.yml"
cp "$TMP/merge.yml" "$MNT/.merge"
cp "$TMP/donor/organs/blk_0_ffn_up.bin" "$MNT/organs/"
rm "$MNT/norm/blk_2_attn_norm.bin"
echo other >"$MNT/metadata/general.name"
record merged
unmount_and_wait "$TMP/donor"

# shows CODE: 0 all changes, else none.
shows() {
	if [ "$1" = 0 ]; then
		cut -f 1,2 "$MNT/.grafts" | sed s/reference/link/ | sort >"$TMP/now"
		diff "$TMP/$recipe/grafts" "$TMP/now" || fail "$2"
		same "$MNT/model.gguf" "$TMP/$recipe/whole.gguf"
	else
		equal "$(cat "$MNT/.grafts")" '' "$2"
		same "$MNT/model.gguf" "$base"
	fi
}

# Compare the next mount; code 0: the recipe was confirmed, 1: refused, 2: neither.
check_next() {
	local code=$1
	mount_model -o "layer=$TMP/layer" "$base"
	[ "$code" != 2 ] || [ ! -s "$MNT/.grafts" ] || code=0
	shows "$code" "$2, the next mount"
	unmount_and_wait
}

# try K FAULT: false if there are fewer than K calls.
try() {
	local code=0 what="$recipe, call $1, $2" call
	rm -rf "$TMP/layer" "$TMP/fault"
	ORGANFS_FAULT=any:$1:$2 ORGANFS_FAULT_LOG=$TMP/fault \
		"$faulty" -f -o "layer=$TMP/layer" "$base" "$MNT" >>"$LOGS/mnt" 2>&1 </dev/null &
	DAEMON[$MNT]=$!
	until_true 60 is_up "$MNT" || late "$what: not mounted after 60 s"
	if ! mountpoint -q "$MNT"; then
		fusermount3 -uz "$MNT" 2>/dev/null || true
		wait "${DAEMON[$MNT]}" 2>/dev/null || true
		unset "DAEMON[$MNT]"
		return 0
	fi
	cp "$TMP/$recipe/recipe.yml" "$MNT/.recipe" 2>/dev/null || code=1
	call=$(head -n 1 "$TMP/fault" 2>/dev/null) || true
	what="$what (${call:-none})"
	if [ "$2" = kill ] && [ -n "$call" ]; then
		code=2
	else
		shows $code "$what"
		# If the disk does not allow the rollback of a refused recipe, the log says so.
		! grep -q 'the next mount may find it done' "$MNT/.log" || code=2
	fi
	if [ $(($1 % 2)) = 0 ] || [ "$2" = kill ]; then
		kill_daemon
	else
		unmount_and_wait
	fi
	check_next $code "$what"
	[ -n "$call" ]
}

for recipe in alone merged; do
	for what in kill EIO ENOSPC+ EIO+; do
		step=$(every 4)
		k=$((1 + RANDOM % step))
		while try $k "$what"; do
			k=$((k + step))
			[ "$k" -lt 400 ] || fail 'there is no end'
		done
		echo "$recipe, $what: $k calls"
	done
done

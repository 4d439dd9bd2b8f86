#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# timeout: 600
# A failing disk, or a power cut, at each call of an undo of several changes: all are undone or
# none, at once and at the next mount; a refused undo changes nothing.
. "${0%/*}/../lib.sh"

faulty=${ORGANFS%/*}/tests/tools/organfs-faults
[ -x "$faulty" ] || skip "$faulty is not built"
base=$(use stories260K)
donor=$MODELS/stories260K-donor.gguf
"$LORA" make "$base" "$TMP/style.gguf" 'blk.[01].attn_q.weight'
mount_model -o "layer=$TMP/full" "$base"
for block in 0 1; do
	"$GGUF" organ "$donor" blk.$block.ffn_up.weight "$TMP/blk_${block}_ffn_up.bin"
	cp "$TMP/blk_${block}_ffn_up.bin" "$MNT/organs/"
done
cp "$TMP/blk_1_ffn_up.bin" "$MNT/organs/blk_9_ffn_up.bin"
rm "$MNT/norm/blk_2_attn_norm.bin"
echo other >"$MNT/metadata/general.name"
ln -s "$TMP/style.gguf" "$MNT/adapters/style.gguf"
echo 0.5 >"$MNT/adapters/style.scale"
cut -f 1,2 "$MNT/.grafts" >"$TMP/grafts"
unmount_and_wait

# shows CODE: all changes, or for 0 none.
shows() {
	if [ "$1" = 0 ]; then
		equal "$(cat "$MNT/.grafts")" '' "$2"
		same "$MNT/model.gguf" "$base"
	else
		cut -f 1,2 "$MNT/.grafts" | diff - "$TMP/grafts" || fail "$2"
	fi
}

# Compare the next mount; code 0: the undo was confirmed, 1: refused, 2: neither.
check_next() {
	local code=$1
	mount_model -o "layer=$TMP/layer" "$base"
	[ "$code" != 2 ] || [ -s "$MNT/.grafts" ] || code=0
	shows "$code" "$2, the next mount"
	# Later changes work.
	cp "$TMP/blk_1_ffn_up.bin" "$MNT/organs/blk_2_ffn_up.bin"
	rm -f "$MNT/organs/blk_2_ffn_up.bin"
	unmount_and_wait
}

# try K FAULT [CALL]: false if there are fewer than K calls of that kind.
try() {
	local code=0 what="${3-any} call $1, $2" call
	rm -rf "$TMP/layer" "$TMP/fault"
	cp -a "$TMP/full" "$TMP/layer"
	ORGANFS_FAULT=${3-any}:$1:$2 ORGANFS_FAULT_LOG=$TMP/fault \
		"$faulty" -f -o "layer=$TMP/layer" "$base" "$MNT" >>"$LOGS/mnt" 2>&1 </dev/null &
	DAEMON[$MNT]=$!
	until_true 60 is_up "$MNT" || late "$what: not mounted after 60 s"
	if ! mountpoint -q "$MNT"; then
		fusermount3 -uz "$MNT" 2>/dev/null || true
		wait "${DAEMON[$MNT]}" 2>/dev/null || true
		unset "DAEMON[$MNT]"
		check_next 1 "$what"
		return 0
	fi
	echo all >"$TMP/all"
	cp "$TMP/all" "$MNT/.undo" 2>/dev/null || code=1
	call=$(head -n 1 "$TMP/fault" 2>/dev/null) || true
	what="$what (${call:-none})"
	if [ "$2" = kill ] && [ -n "$call" ]; then
		code=2
	else
		shows $code "$what"
		# If the disk does not allow the rollback of a refused undo, the log says so.
		! grep -q 'the next mount may find it done' "$MNT/.log" || code=2
		# The next change makes a pending one durable, or is refused. (A call that has yet
		# to fail would fail the second of the two.)
		if [ -n "$call" ]; then
			cp "$TMP/blk_0_ffn_up.bin" "$MNT/organs/blk_3_ffn_up.bin" 2>/dev/null ||
				true
			cp "$MNT/.base/organs/blk_3_ffn_up.bin" "$MNT/organs/" 2>/dev/null || true
		fi
	fi
	if [ $(($1 % 2)) = 0 ] || [ "$2" = kill ]; then
		kill_daemon
	else
		unmount_and_wait
	fi
	check_next $code "$what"
	[ -n "$call" ]
}

for what in kill EIO ENOSPC+ EIO+; do
	step=$(every 1)
	k=$((1 + RANDOM % step))
	while try $k "$what"; do
		k=$((k + step))
		[ "$k" -lt 200 ] || fail 'there is no end'
	done
	echo "$what: $k calls"
done
# The write-ahead log has the whole transaction at each failure of that call.
for what in EIO EIO+; do
	k=1
	while try $k "$what" fdatasync; do
		k=$((k + 1))
	done
	echo "fdatasync, $what: $k calls"
done

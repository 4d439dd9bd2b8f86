#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# plain: killed processes report nothing
# timeout: 300
# Four processes graft and one removes at once: content that close() confirmed survives a kill of
# the daemon, and a silent loss of the layer's disk, as in a power cut. A removal survives as well
# if a later graft does.
. "${0%/*}/../lib.sh"

type=${TYPE:-ext4}
need python3
disk=$TMP/disk
mount_image "$type" 400 "$disk"
trap 'umount -l "$disk" 2>/dev/null || true' EXIT
"$GGUF" small "$TMP/base.gguf" 250
mkdir "$TMP/v1" "$TMP/v2" "$TMP/donor"
for v in 1 2; do
	"$GGUF" small "$TMP/donor.gguf" 250 --seed $((v + 1))
	mount_model -o ro "$TMP/donor.gguf" "$TMP/donor"
	cp "$TMP/donor/organs/"*.bin "$TMP/v$v/"
	unmount_and_wait "$TMP/donor"
done

# Graft ten slots again and again; note each begin, and each success of cp.
grafter() {
	local round block v
	for round in {1..500}; do
		v=$((1 + round % 2))
		for block in "$1"{0..9}; do
			echo "$block $v" >"$TMP/begun.$1"
			cp "$TMP/v$v/blk_${block}_ffn_up.bin" "$MNT/organs/" 2>/dev/null || return 0
			echo "$block $v" >>"$TMP/done.$1"
		done
	done
}

# Remove a slot and then graft another one.
remover() {
	local block
	for block in {100..249}; do
		rm "$MNT/organs/blk_${block}_ffn_down.bin" 2>/dev/null || return 0
		cp "$TMP/v1/blk_${block}_ffn_up.bin" "$MNT/organs/" 2>/dev/null || return 0
		echo "$block" >>"$TMP/removed"
	done
}

has_done() {
	[ "$(cat "$TMP"/done.* | wc -l)" -gt 60 ] && [ "$(wc -l <"$TMP/removed")" -gt 10 ]
}

# Grafts that cp has completed until now are confirmed. An fdatasync() during the shutdown of the
# filesystem may succeed without its bytes, so the grafts of that moment are not confirmed even if
# cp completed them.
confirm() {
	rm -rf "$TMP/confirmed"
	mkdir "$TMP/confirmed"
	cp "$TMP"/done.* "$TMP/removed" "$TMP/confirmed/"
}

# is_begun K BLOCK: the last graft of this block is unconfirmed.
is_begun() {
	local confirmed
	confirmed=$(wc -l <"$TMP/confirmed/done.$1")
	{
		tail -n "+$((confirmed + 1))" "$TMP/done.$1"
		cat "$TMP/begun.$1"
	} | grep "^$2 " >/dev/null
}

check_grafts() {
	local k block v organ
	for k in 1 2 3 4; do
		for block in "$k"{0..9}; do
			v=$(awk -v b="$block" '$1 == b { v = $2 } END { print v }' \
				"$TMP/confirmed/done.$k")
			organ=blk_${block}_ffn_up.bin
			if is_begun "$k" "$block"; then
				cmp -s "$MNT/organs/$organ" "$TMP/v1/$organ" ||
					cmp -s "$MNT/organs/$organ" "$TMP/v2/$organ" ||
					[ -z "$v" ] || fail "$organ was lost"
			elif [ -n "$v" ]; then
				same "$MNT/organs/$organ" "$TMP/v$v/$organ"
			else
				same "$MNT/organs/$organ" "$MNT/.base/organs/$organ"
			fi
		done
	done
	while read -r block; do
		absent "$MNT/organs/blk_${block}_ffn_down.bin"
		same "$MNT/organs/blk_${block}_ffn_up.bin" "$TMP/v1/blk_${block}_ffn_up.bin"
	done <"$TMP/confirmed/removed"
}

for how in kill cut; do
	rm -rf "$disk/layer" "$TMP"/done.* "$TMP"/begun.*
	for k in 1 2 3 4; do
		: >"$TMP/done.$k"
	done
	: >"$TMP/removed"
	mount_model -o "layer=$disk/layer" "$TMP/base.gguf"
	writers=()
	for k in 1 2 3 4; do
		grafter $k &
		writers+=($!)
	done
	remover &
	writers+=($!)
	until_true 60 has_done || late "only $(cat "$TMP"/done.* | wc -l) grafts in 60 s"
	if [ $how = cut ]; then
		confirm
		cut_power "$disk"
	fi
	kill_daemon
	wait "${writers[@]}"
	[ $how = cut ] || confirm
	[ $how = kill ] || restore_power "$type" "$disk"
	mount_model -o "layer=$disk/layer" "$TMP/base.gguf"
	check_grafts
	unmount_and_wait
done

#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# plain: killed processes report nothing
# timeout: 300
# A power cut during and after an assembly: the disk has only durable content. The target is the
# old or the new model, whole, and after the writer's success the new one.
. "${0%/*}/../lib.sh"

need xfs_io
disk=$TMP/disk
target=$disk/out.gguf
"$GGUF" synth "$TMP/base.gguf" --tensors 30 --vocab 1000 --size 60M --fill
"$GGUF" organ "$TMP/base.gguf" blk.1.ffn_up.weight "$TMP/organ.bin"
tail -c 1000000 "$TMP/base.gguf" | dd of="$TMP/organ.bin" conv=notrunc bs=4k seek=1 status=none

# Lose unflushed data.
cut_power() {
	xfs_io -x -c shutdown "$disk" >/dev/null 2>&1 || skip "no shutdown of $1"
}
# Mount a copy, because another process may still have the old mount, and with it the same disk.
power_returns() {
	local options=loop
	[ "$1" != xfs ] || options=loop,nouuid
	umount -l "$disk"
	cp --sparse=always "$TMP/$1.img" "$TMP/$1.next"
	mv "$TMP/$1.next" "$TMP/$1.img"
	mount -o $options "$TMP/$1.img" "$disk" || fail "$1 does not come back"
}

# with_base BASE [CALL]: mount with the graft; calls of that name can be held.
with_base() {
	rm -rf "$TMP/layer"
	mount_held "${2:-none}" -o "noassemble,layer=$TMP/layer" "$1"
	cp "$TMP/organ.bin" "$MNT/organs/blk_1_ffn_up.bin"
}
end() {
	fusermount3 -uz "$MNT"
	wait "${DAEMON[$MNT]}" 2>/dev/null || true
	unset "DAEMON[$MNT]"
}

with_base "$TMP/base.gguf"
cp "$MNT/model.gguf" "$TMP/expected"
end

# POWER=all tries every combination, in most of a minute.
types=xfs
[ "${POWER-}" != all ] || types='xfs ext4'
for type in $types; do
	mount_image $type 400 "$disk"
	for base in "$TMP/base.gguf" "$disk/base.gguf"; do
		[ -e "$base" ] || cp "$TMP/base.gguf" "$base"
		# The second fsync(), of the directory, makes the rename durable.
		for at in pwrite64:1 ioctl:1 fsync:1 renameat2:1 fsync:2; do
			call=${at%:*}
			echo old >"$target"
			sync -f "$disk"
			with_base "$base" $call
			hold
			echo "!$target" >"$MNT/.assemble" 2>/dev/null &
			writer=$!
			for ((i = 1; i <= ${at#*:}; i++)); do
				[ $i = 1 ] || hold
				until_true 60 eval 'have_arrived $i || is_gone $writer' ||
					late "$call does not arrive"
			done
			cut_power $type
			release
			told=yes
			wait $writer 2>/dev/null || told=no
			end
			power_returns $type
			cmp -s "$target" "$TMP/expected" ||
				{ [ $told = no ] && cmp -s "$target" <(echo old); } ||
				fail "$type, $at, told $told: the power went: $(ls -lA "$disk")"
		done

		# The writer was told of success.
		echo old >"$target"
		sync -f "$disk"
		with_base "$base"
		echo "!$target" >"$MNT/.assemble"
		cut_power $type
		end
		power_returns $type
		same "$target" "$TMP/expected"

		# The next run leaves nothing of earlier ones.
		with_base "$base"
		echo "$disk/next.gguf" >"$MNT/.assemble"
		end
		same "$disk/next.gguf" "$TMP/expected"
		equal "$(find "$disk" -name '.organfs*')" '' "left on $type"
		rm "$disk/next.gguf"
	done
	umount "$disk"
	rm "$TMP/$type.img"
done

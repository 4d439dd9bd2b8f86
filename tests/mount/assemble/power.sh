#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# plain: killed processes report nothing
# timeout: 300
# A power cut during an assembly and after it: the disk then has only durable content. The target is
# the old model or the new one, whole; after the writer's success it is the new one.
. "${0%/*}/../lib.sh"

need xfs_io
disk=$TMP/disk
target=$disk/out.gguf
"$GGUF" synth "$TMP/base.gguf" --tensors 30 --vocab 1000 --size 60M --fill
"$GGUF" organ "$TMP/base.gguf" blk.1.ffn_up.weight "$TMP/organ.bin"
tail -c 1000000 "$TMP/base.gguf" | dd of="$TMP/organ.bin" conv=notrunc bs=4k seek=1 status=none

# Data that was not flushed is lost.
cut_power() {
	xfs_io -x -c shutdown "$disk" >/dev/null 2>&1 || skip "no shutdown of $1"
}
# A copy is mounted: another process may still have the old mount, and the disk would be that one
# again.
power_returns() {
	local options=loop
	[ "$1" != xfs ] || options=loop,nouuid
	umount -l "$disk"
	cp --sparse=always "$TMP/$1.img" "$TMP/$1.next"
	mv "$TMP/$1.next" "$TMP/$1.img"
	mount -o $options "$TMP/$1.img" "$disk" || fail "$1 does not come back"
}

# with_base BASE [CALL]: mounted with the graft; such calls can be held.
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

# POWER=all: every combination, which takes most of a minute.
types=xfs
[ "${POWER-}" != all ] || types='xfs ext4'
for type in $types; do
	mount_image $type 400 "$disk"
	for base in "$TMP/base.gguf" "$disk/base.gguf"; do
		[ -e "$base" ] || cp "$TMP/base.gguf" "$base"
		# The second fsync() is that of the directory, and makes the rename durable.
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

		# It was told that the file is there.
		echo old >"$target"
		sync -f "$disk"
		with_base "$base"
		echo "!$target" >"$MNT/.assemble"
		cut_power $type
		end
		power_returns $type
		same "$target" "$TMP/expected"

		# The next run leaves nothing of the others.
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

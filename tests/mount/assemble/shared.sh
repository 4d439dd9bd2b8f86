#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# timeout: 300
# On a filesystem that shares blocks an assembly takes only the grafts' room; this one has no room
# for a copy. An assembly that does not fit is refused before it writes, and changes nothing.
. "${0%/*}/../lib.sh"

need filefrag
disk=$TMP/disk

# Print the KiB that a file shares with others.
shared() {
	filefrag -k -v "$1" | awk -F '[:.]+' '/shared/ { sum += $6 } END { print sum + 0 }'
}
room() {
	sync -f "$disk"
	df --output=avail -k "$disk" | tail -n 1
}
assemble() {
	bash -c 'echo "$1" >"$2"' - "$1" "$MNT/.assemble"
}

for type in xfs btrfs; do
	mount_image $type 400 "$disk"
	base=$disk/base.gguf
	"$GGUF" synth "$base" --tensors 30 --vocab 1000 --size 200M --fill
	size=$(stat -c %s "$base")
	"$GGUF" organ "$base" blk.1.ffn_up.weight "$TMP/organ.bin"
	tail -c 1000000 "$base" | dd of="$TMP/organ.bin" conv=notrunc bs=4k seek=1 status=none
	organ=$(stat -c %s "$TMP/organ.bin")
	mount_model -o noassemble "$base"
	cp "$TMP/organ.bin" "$MNT/organs/blk_1_ffn_up.bin"

	before=$(room)
	[ $((before * 1024)) -lt $((size + organ)) ] || fail "$type: there is room for a copy"
	assemble "$disk/out.gguf"
	same "$disk/out.gguf" "$MNT/model.gguf"
	read -r bytes < <(sed 's/.*; \([0-9]*\) shared.*/\1/' "$MNT/.assemble")
	[ "$bytes" -ge $((size - organ)) ] || fail "$type: $bytes of $size shared"
	[ "$(shared "$disk/out.gguf")" -gt $(((size - organ) / 1024 - 100)) ] ||
		fail "$type: $(shared "$disk/out.gguf") KiB are shared"
	[ $((before - $(room))) -lt $((organ / 1024 + 8192)) ] ||
		fail "$type: of $before KiB $(room) are left"

	# A later write to the base changes the base only.
	cp "$disk/out.gguf" "$TMP/out"
	cp --reflink=always "$base" "$disk/other.gguf"
	rm "$base"
	same "$disk/out.gguf" "$TMP/out"
	mv "$disk/other.gguf" "$base"

	# Another header moves all data, for which there is no room.
	rm "$disk/out.gguf"
	echo old >"$disk/old.gguf"
	printf '%01000d' 0 >"$MNT/metadata/general.description"
	expect_fail 'no space' assemble "!$disk/old.gguf"
	equal "$(cat "$disk/old.gguf")" old "$type"
	equal "$(ls -A "$disk" | grep -v lost+found | tr '\n' ' ')" 'base.gguf old.gguf ' "$type"
	[ $((before - $(room))) -lt 8192 ] || fail "$type: of $before KiB $(room) are left"
	rm "$MNT/metadata/general.description"

	# On another filesystem the model is copied.
	assemble "$TMP/elsewhere.gguf"
	same "$TMP/elsewhere.gguf" "$MNT/model.gguf"
	assembly_says '; 0 shared'
	rm "$TMP/elsewhere.gguf"
	unmount_and_wait
	rm -r "${XDG_STATE_HOME:?}"/*
	umount "$disk"
	rm "$TMP/$type.img"
done

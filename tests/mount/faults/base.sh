#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# timeout: 300
# The disk of the base fails with EIO, reads short, or is slow. A reader gets the tensor's bytes or
# EIO, never zeros and never fewer; operations without the disk go on; the mount recovers with the
# disk.
. "${0%/*}/../lib.sh"

need getfattr
base=$(use scribe-Q4_K_M)
mkdir "$TMP/back"
cp "$base" "$TMP/back/model.gguf"
failing_disk "$TMP/back" "$TMP/disk"
for block in 0 1 2 3 4 5; do
	"$GGUF" organ "$base" blk.$block.ffn_up.weight "$TMP/$block.bin"
done
up() {
	echo "$MNT/organs/blk_$1_ffn_up.bin"
}

# Results with a sound disk.
mount_model -o ro "$TMP/disk/model.gguf"
cp "$MNT/.theta" "$MNT/organs/"*.theta "$TMP"
cp "$MNT/.theta" "$TMP/report"
cp "$MNT/checksums.xxh128" "$TMP/checksums"
unmount_and_wait

# A disk that answers nothing gives no mount, and one sentence.
fault 'read EIO'
expect_refusal "$TMP/disk/model.gguf" ro
grep -q 'Input/output error' "$TMP/.said" || fail "says: $(cat "$TMP/.said")"
fault

mount_model -o noassemble "$TMP/disk/model.gguf"
cp "$TMP/2.bin" "$(up 0)"
goes_on() {
	ls -lR "$MNT" >/dev/null || fail 'no names'
	same "$(up 0)" "$TMP/2.bin"
	cat "$MNT/.grafts" "$MNT/.log" "$MNT/.undo" >/dev/null || fail 'no texts'
	cp "$TMP/1.bin" "$(up 3)"
	same "$(up 3)" "$TMP/1.bin"
	rm "$(up 3)"
}
lost() {
	expect_fail 'input/output error' "$@"
}
# is_lost BLOCK: nothing returns other bytes than those of its organ, which was not read before.
is_lost() {
	lost cat "$(up "$1")"
	lost dd if="$(up "$1")" of="$TMP/is" bs=64k iflag=direct
	lost cat "$MNT/organs/blk_$1_ffn_up.theta"
	lost cat "$MNT/model.gguf"
	lost cat "$MNT/.views/npy/organs/blk_$1_ffn_up.npy"
	lost cat "$MNT/.views/spectral/organs/blk_$1_ffn_up.bin"
	lost getfattr -n user.organfs.theta "$(up "$1")"
	lost bash -c "echo '$TMP/out.gguf' >'$MNT/.assemble'"
	assembly_says "can no longer be read: $said"
	absent "$TMP/out.gguf"
	grep -q "$TMP/disk/model.gguf: cannot be read" "$MNT/.log" || fail "$(cat "$MNT/.log")"
}
is_whole() {
	same "$(up "$1")" "$TMP/$1.bin"
	same "$MNT/organs/blk_$1_ffn_up.theta" "$TMP/blk_$1_ffn_up.theta"
}
block=1
for what in EIO end; do
	# A file that ends early looks changed.
	said='.log says which, and why'
	[ $what = EIO ] || said='it was changed on disk'
	fault "read $what"
	is_lost $block
	# When the disk is sound again, threads that were measuring or hashing may finish.
	if [ $block = 1 ]; then
		lost cat "$MNT/.theta"
		lost cat "$MNT/.report.json"
		lost cat "$MNT/checksums.xxh128"
	fi
	goes_on
	fault
	is_whole $block

	# Only the bytes of one organ fail.
	block=$((block == 1 ? 2 : 5))
	IFS=: read -r _ at length < <(getfattr --absolute-names --only-values \
		-n user.organfs.extent "$(up $block)") || true
	fault "read $what 0 $at $((at + length))"
	is_lost $block
	goes_on
	same "$MNT/organs/blk_$((block - 1))_ffn_up.bin" "$TMP/$((block - 1)).bin"
	fault
	is_whole $block
	block=4
done

# .check needs samples of the base.
fault 'read EIO'
lost cat "$MNT/.check"
fault
cat "$MNT/.check" >/dev/null
rm "$(up 0)"
cp "$MNT/.base/organs/blk_0_ffn_up.bin" "$MNT/.base/organs/blk_3_ffn_up.bin" "$MNT/organs/"

# Short or slow reads are not errors.
for what in half wait=5; do
	unmount_and_wait
	fault "read $what"
	mount_model -o noassemble "$TMP/disk/model.gguf"
	same "$MNT/model.gguf" "$base"
	is_whole 1
	# The whole report takes many small reads.
	[ $what != half ] || same "$MNT/.theta" "$TMP/report"
	[ $what != half ] || same "$MNT/checksums.xxh128" "$TMP/checksums"
	equal "$(cat "$MNT/.log")" ''
	fault
done
unmount_and_wait
end_disk "$TMP/disk"

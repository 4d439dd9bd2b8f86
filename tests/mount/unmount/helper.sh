#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# umount(8) and organfs-umount return when the model is written, and not before.
# timeout: 300
. "${0%/*}/../lib.sh"

with_umount_helper
base=$(use stories260K)
donor=$MODELS/stories260K-donor.gguf
"$GGUF" organ "$donor" blk.1.ffn_up.weight "$TMP/organ.bin"
"$GGUF" splice "$base" "$donor" blk.1.ffn_up.weight "$TMP/expected"
out=$TMP/stories260K.grafted.gguf

# graft [MOUNTPOINT [OPTIONS]]: mount and graft.
graft() {
	local mnt=${1:-$MNT}
	"$ORGANFS" ${2:+-o "$2"} "$base" "$mnt" </dev/null
	cp "$TMP/organ.bin" "$mnt/organs/blk_1_ffn_up.bin"
}

written() {
	same "$out" "$TMP/expected"
	rm "$out"
	no_litter "$XDG_STATE_HOME"
}

for _ in $(seq "$(rounds 100 5)"); do
	graft
	umount "$MNT" && cmp "$out" "$TMP/expected" || fail 'not there after umount'
	rm "$out"
done
no_litter "$XDG_STATE_HOME"

# The helper's second name, other names of the mount, and options from umount(8).
graft
umount_says 0 '' "$HELPER" "$MNT"
written
graft
ln -s "$MNT" "$TMP/link"
umount_says 0 '' "$HELPER" "$TMP/link"
written
graft
umount_says 32 'busy' umount "$TMP/link" 6<"$MNT/organs/blk_1_ffn_up.bin"
umount_says 0 '' umount "$TMP/link"
written
graft
cd "$TMP"
umount_says 0 '' "$HELPER" -- "../${MNT##*/}/"
written
graft
umount_says 0 '' umount "../${MNT##*/}"
written
graft
umount_says 0 "^assembled: $out: .* 1 graft," umount -v "$MNT"
written
graft
umount_says 0 '' umount -f "$MNT"
written
odd="$TMP/"$'back\\slash, 100% space\ttab\nline\n\n'
mkdir "$odd"
graft "$odd"
umount_says 0 '' umount "$odd"
written
# A mount point made for the mount is removed too.
graft "$TMP/new"
umount_says 0 '' umount "$TMP/new"
written
absent "$TMP/new"

# There is nothing to write.
"$ORGANFS" "$base" "$MNT" </dev/null
umount_says 0 '' umount "$MNT"
"$ORGANFS" -o ro "$base" "$MNT" </dev/null
umount_says 0 '' umount "$MNT"
graft "$MNT" noassemble
umount_says 0 '' umount "$MNT"
absent "$out"
"$ORGANFS" "$base" "$MNT" </dev/null
equal "$(cut -f 1 "$MNT/.grafts")" organs/blk_1_ffn_up.bin
umount "$MNT"
written

# A busy mount stays, and so do the grafts.
graft
exec 6<"$MNT/model.gguf"
umount_says 32 busy umount "$MNT"
umount_says 32 busy "$HELPER" "$MNT"
flags() {
	findmnt -n -o VFS-OPTIONS "$MNT"
}
before=$(flags)
umount_says 32 '^umount: .*: busy, and read-only from now on\.$' umount -r "$MNT"
equal "$(flags)" "ro${before#rw}" 'flags of the mount'
mount -o "remount,bind,$before" "$MNT"
same "$MNT/model.gguf" "$TMP/expected"
absent "$out"
# A lazy unmount does not wait for a process that uses the mount.
DAEMON[$MNT]=$(daemon_of "$MNT")
umount_says 0 '' umount -l "$MNT"
absent "$out"
exec 6<&-
until_true 60 [ -e "$out" ] || fail 'nothing is written after a lazy umount'
wait_daemon
written

# Arguments that are no mounts of ours, and invalid commands.
umount_says 32 'not an organfs mount' "$HELPER" "$MNT"
umount_says 32 'not an organfs mount' "$HELPER" "$TMP/none/at/all"
umount_says 2 '^usage:' "$HELPER"
umount_says 2 '^usage:' "$HELPER" -x "$MNT"
umount_says 2 '^usage:' "$HELPER" -N
umount_says 0 '^usage:' "$HELPER" --help

# Another FUSE filesystem, whose daemon is gone, is unmounted as without our helper.
mkdir "$TMP/other"
exec 6<>/dev/fuse
mount -i -t fuse.other -o fd=6,rootmode=040000,user_id=0,group_id=0 other "$TMP/other"
umount_says 32 'not an organfs mount' "$HELPER" "$TMP/other"
exec 6<&-
umount_says 0 '' umount "$TMP/other"
! grep -q " $TMP/other " /proc/self/mountinfo || fail "another's mount stays"

# All of several models are written.
cp "$MODELS/stories260K-q8_0.gguf" "$TMP/q8.gguf"
"$ORGANFS" "$base" "$TMP/q8.gguf" "$MNT" </dev/null
cp "$TMP/organ.bin" "$MNT/stories260K/organs/blk_1_ffn_up.bin"
cp "$TMP/organ.bin" "$MNT/q8/organs/blk_1_ffn_up.bin"
umount_says 0 '^assembled: .*/q8.grafted.gguf: ' umount -v "$MNT"
exists "$TMP/q8.grafted.gguf"
written

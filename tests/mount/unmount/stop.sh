#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# organfs --stop unmounts some or all of the user's mounts, like organfs-umount. With --keep the
# grafts stay for the next mount, and no model is written.
. "${0%/*}/../lib.sh"

need getfattr
with_mount_helper
with_ordinary_user
unset XDG_STATE_HOME
cd "$TMP"
base=$(use stories260K)
out=$TMP/stories260K.grafted.gguf
"$GGUF" organ "$MODELS/stories260K-donor.gguf" blk.1.ffn_up.weight organ.bin
state=$HOME/.local/state
says() {
	umount_says "$@"
}
# graft [OPTIONS [MODEL [MOUNTPOINT]]]: mount and graft.
graft() {
	local mnt=${3:-$MNT}
	organfs ${1:+-o "$1"} "${2:-$base}" "$mnt" 2>"$LOGS/start" </dev/null ||
		fail "$(cat "$LOGS/start")"
	cp organ.bin "$mnt/organs/blk_1_ffn_up.bin"
}
is_grafted() {
	equal "$(cut -f 1 "$1/.grafts")" organs/blk_1_ffn_up.bin "grafts in $1"
}
written() {
	exists "$out"
	rm "$out"
	no_litter "$state"
}

# --stop works like organfs-umount, including options and exit status.
graft
says 0 "^assembled: $out: " organfs --stop -v "$MNT"
written
says 32 'not an organfs mount' organfs --stop "$MNT"
says 2 '^usage: organfs-umount ' organfs --stop
says 2 '^usage:' organfs --stop --all "$MNT"
says 2 'unknown option "--all"' organfs --all
says 0 '' organfs --stop --all

# The grafts are kept, even if the mount ends with its daemon, or is mounted twice.
for options in '' auto_unmount "output=$TMP/other.gguf" confine; do
	if [ "$options" = confine ] && ! organfs -o confine "$base" "$MNT" 2>/dev/null; then
		continue
	fi
	! mountpoint -q "$MNT" || umount "$MNT"
	graft "$options"
	says 0 '' organfs --stop --keep "$MNT"
	absent "$out"
	absent "$TMP/other.gguf"
	organfs "$base" "$MNT" 2>said
	grep -q 'took up 1 graft' said || fail "$(cat said)"
	is_grafted "$MNT"
	says 0 '' organfs --stop "$MNT"
	written
done
# One mount has several models.
cp "$MODELS/stories260K-q8_0.gguf" q8.gguf
organfs "$base" q8.gguf "$MNT"
cp organ.bin "$MNT/stories260K/organs/blk_1_ffn_up.bin"
cp organ.bin "$MNT/q8/organs/blk_1_ffn_up.bin"
says 0 '' "$UMOUNT" --keep "$MNT"
absent "$out"
absent q8.grafted.gguf
organfs "$base" q8.gguf "$MNT" 2>/dev/null
is_grafted "$MNT/stories260K"
is_grafted "$MNT/q8"
says 0 '' organfs --stop "$MNT"
exists q8.grafted.gguf
written
# If the unmount would write nothing, --keep has nothing to keep.
for options in ro noassemble "layer=$TMP/layer"; do
	organfs -o "$options" "$base" "$MNT"
	says 0 '' organfs --stop --keep "$MNT"
done

# A mount that could not be stopped writes as usual.
graft
exec 6<"$MNT/model.gguf"
says 32 busy organfs --stop --keep "$MNT"
exec 6<&-
says 0 '' organfs --stop "$MNT"
written
graft noassemble
exec 6<"$MNT/model.gguf"
says 32 busy organfs --stop --keep "$MNT"
equal "$(getfattr --absolute-names --only-values -n user.organfs.noassemble "$MNT")" 1
exec 6<&-
umount "$MNT"
organfs "$base" "$MNT" 2>/dev/null
DAEMON[$MNT]=$(daemon_of "$MNT")
says 0 '' organfs --stop -l --keep "$MNT"
wait_daemon
organfs "$base" "$MNT" 2>/dev/null
is_grafted "$MNT"
says 0 '' organfs --stop "$MNT"
written

# One of all mounts cannot be written, the others are; another user's mount is left alone.
mkdir full
mount -t tmpfs -o size=1500k tmpfs full
cp "$base" full/full.gguf
cp "$base" "$TMP/home/m.gguf"
chown "$ORDINARY:$ORDINARY" "$TMP/home/m.gguf"
# A daemon that cannot get the request writes nothing either.
as_user organfs -o uid=0 "$TMP/home/m.gguf" "$TMP/home/mnt"
says 32 "^organfs-umount: $TMP/home/mnt: --keep: .*Permission denied; it stays mounted" \
	as_user organfs --stop --keep "$TMP/home/mnt"
as_user organfs --stop "$TMP/home/mnt"
as_user organfs "$TMP/home/m.gguf" "$TMP/home/mnt"
graft
graft '' full/full.gguf "$TMP/full-mnt"
says 1 '^organfs-umount: failed: .*full.*No space left.*the grafts are kept in ' \
	organfs --stop --all
written_anyway() {
	exists "$out"
	rm "$out"
}
written_anyway
! mountpoint -q "$MNT" || fail 'it is still mounted'
as_user mountpoint -q "$TMP/home/mnt" || fail "another user's mount is gone"
# A model within a mount is stopped first.
as_user cp organ.bin "$TMP/home/mnt/organs/blk_1_ffn_up.bin"
as_user organfs -o ro "$TMP/home/mnt/model.gguf" "$TMP/home/upper"
says 0 '' as_user organfs --stop --all --keep
absent "$TMP/home/m.grafted.gguf"
equal "$(as_user organfs --list)" ''
organfs -o "output=$out" full/full.gguf "$MNT" 2>/dev/null
is_grafted "$MNT"
says 0 '' organfs --stop --all
written_anyway
umount full

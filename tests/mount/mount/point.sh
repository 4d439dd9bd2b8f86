#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# A mount point is an empty directory without a mounted model; -o nonempty hides its content. If
# the model cannot be written next to the base, the mount already says so.
. "${0%/*}/../lib.sh"

base=$(use stories260K)
other=$MODELS/stories260K-donor.gguf
said=$TMP/said

refused() {
	local status=0
	"$ORGANFS" ${2:+-o "$2"} "$other" "${3-$MNT}" >"$said" 2>&1 </dev/null || status=$?
	equal $status 1 "exit status: $(cat "$said")"
	equal "$(wc -l <"$said")" 1 "lines of $(cat "$said")"
	grep -Eq -- "organfs: ${3-$MNT}: .*$1" "$said" || fail "it says: $(cat "$said")"
}
mounts() {
	equal "$(grep -c " $MNT " /proc/self/mountinfo)" "$1" 'mounts'
}

# Any entry makes the directory nonempty, and stays untouched.
for name in file .hidden 'lost+found'; do
	echo mine >"$MNT/$name"
	refused 'not empty.* -o nonempty'
	equal "$(cat "$MNT/$name")" mine
	mount_model -o nonempty,ro "$base"
	same "$MNT/model.gguf" "$base"
	unmount_and_wait
	equal "$(cat "$MNT/$name")" mine
	rm "$MNT/$name"
done
mkdir "$MNT/directory"
refused 'not empty'
rmdir "$MNT/directory"

# The path leads through a link; a directory made for the mount ends with it.
ln -s mnt "$MNT-link"
touch "$MNT/file"
refused 'not empty' '' "$MNT-link"
rm "$MNT/file"
mount_model -o ro "$base" "$TMP/made"
unmount_and_wait "$TMP/made"
absent "$TMP/made"

# One model at a time, even with nonempty, and the first mount goes on.
mount_model -o noassemble "$base"
for options in '' ro nonempty; do
	refused 'mounted there already' "$options"
	refused 'mounted there already' "$options" "$MNT-link"
done
# A name that mountinfo escapes is refused too.
mkdir "$TMP/a b"
mount_model -o ro "$base" "$TMP/a b"
refused 'mounted there already' nonempty "$TMP/a b"
unmount_and_wait "$TMP/a b"
# A directory in a mount is a nonempty directory.
refused 'not empty' '' "$MNT/organs"
mounts 1
same "$MNT/model.gguf" "$base"
unmount_and_wait

# A model may lie below its own mount.
mkdir "$TMP/own"
cp "$base" "$TMP/own/m.gguf"
mount_model -o ro,nonempty "$TMP/own/m.gguf" "$TMP/own"
same "$TMP/own/model.gguf" "$base"
unmount_and_wait "$TMP/own"
mount_model -o nonempty "$TMP/own/m.gguf" "$TMP/own"
cp "$TMP/own/.base/organs/blk_0_ffn_up.bin" "$TMP/up.bin"
unmount_and_wait "$TMP/own"

# A writable target gives no message.
quiet() {
	"$ORGANFS" ${1:+-o "$1"} "$2" "$MNT" >"$said" 2>&1 </dev/null || fail "$(cat "$said")"
	[ ! -s "$said" ] || fail "with $1: $(cat "$said")"
	unmount_and_wait
}
quiet '' "$base"
need_root
unshare -m true 2>/dev/null || skip 'no namespaces of mounts here'
if [ -z "${ORGANFS_TEST_NAMESPACE-}" ]; then
	rm -r "$TMP/own" "$TMP/a b" "$MNT-link"
	ORGANFS_TEST_NAMESPACE=1 exec unshare -m "$0"
fi

# Another filesystem's root can be used while it is empty.
mount -t tmpfs tmpfs "$MNT"
mount_model -o ro "$base"
until_true 60 test -e "$MNT/model.gguf" || late 'not mounted over an empty filesystem'
mounts 2
unmount_and_wait
echo mine >"$MNT/file"
refused 'not empty'
umount "$MNT"

# The disk is read-only.
mkdir "$TMP/disk"
mount -t tmpfs tmpfs "$TMP/disk"
cp "$base" "$TMP/disk/one.gguf"
cp "$base" "$TMP/disk/two.gguf"
mount -o remount,ro "$TMP/disk"
for model in "$TMP/disk/one.gguf" "$TMP/disk"; do
	"$ORGANFS" "$model" "$MNT" >"$said" 2>&1 </dev/null || fail "$(cat "$said")"
	equal "$(wc -l <"$said")" 1 "lines of $(cat "$said")"
	for file in "$said" "$MNT/.log"; do
		grep -Eq "one: .*$TMP/disk: Read-only" \
			"$file" || fail "$file: $(cat "$file")"
	done
	unmount_and_wait
done
# An output on the read-only disk is refused.
for output in one.gguf:/out.gguf one.gguf:/x-%05d-of-%05d.gguf\ split=1M :; do
	expect_fail "$TMP/disk/?: Read-only" \
		"$ORGANFS" -o "output=$TMP/disk${output#*:}" "$TMP/disk/${output%%:*}" "$MNT"
	mounts 0
done
quiet "ro,output=$TMP/disk/out.gguf" "$TMP/disk/one.gguf"
for options in ro noassemble "output=$TMP/out.gguf" "layer=$TMP/layer"; do
	quiet "$options" "$TMP/disk/one.gguf"
done

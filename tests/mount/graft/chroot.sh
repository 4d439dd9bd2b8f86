#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# In a chroot whose root is no mount point, the mount around it is invisible. Grafts work there,
# and .grafts names their donors.
. "${0%/*}/../lib.sh"

need_root
need unshare chroot
if [ -z "${ORGANFS_TEST_NAMESPACE-}" ]; then
	unshare -m true 2>/dev/null || skip 'no namespaces of mounts here'
	ORGANFS_TEST_NAMESPACE=1 exec unshare -m --propagation private "$0"
fi

root=$TMP/root
mkdir -p "$root"/{usr,proc,dev,home,mnt,other}
for dir in bin lib lib32 lib64 libx32 sbin; do
	[ ! -L /$dir ] || cp -P /$dir "$root/"
done
[ -L "$root/bin" ] || skip 'this system keeps its programs outside /usr'
mount -o ro --bind /usr "$root/usr"
mount -t proc proc "$root/proc"
mknod -m 666 "$root/dev/fuse" c 10 229 && mknod -m 666 "$root/dev/null" c 1 3 ||
	skip 'no devices can be made here'
: <"$root/dev/fuse" 2>/dev/null || skip 'no devices here'
cp -L "$ORGANFS" "$root/home/organfs"
cp "$MODELS"/{scribe,clerk}-Q4_K_M.gguf "$root/home/"

# inside COMMAND...: run it in the chroot.
inside() {
	HOME=/home chroot "$root" "$@"
}
inside sh -c '! grep -q " / / " /proc/self/mountinfo' || skip 'the root is a mount point'
inside /home/organfs -o noassemble /home/scribe-Q4_K_M.gguf /mnt
inside /home/organfs -o ro /home/clerk-Q4_K_M.gguf /other
# donor_of NAME: file and tensor of the donor of organs/NAME.bin, from .grafts.
donor_of() {
	awk -F '\t' -v file="organs/$1.bin" '$1 == file { print $8, $9 }' "$root/mnt/.grafts"
}

inside cp /other/organs/blk_1_ffn_up.bin /home/saved.bin
inside cp /home/saved.bin /mnt/organs/blk_1_ffn_up.bin
equal "$(donor_of blk_1_ffn_up)" '/home/saved.bin -' 'a file beside the root'
inside cp /other/organs/blk_2_ffn_up.bin /mnt/organs/
equal "$(donor_of blk_2_ffn_up)" '/home/clerk-Q4_K_M.gguf blk.2.ffn_up.weight' 'another mount'
inside cp /mnt/.base/organs/blk_3_ffn_up.bin /mnt/organs/blk_2_ffn_up.bin
equal "$(donor_of blk_2_ffn_up)" '/home/scribe-Q4_K_M.gguf blk.3.ffn_up.weight' 'the mount itself'

# A process outside has a file open whose name belongs to another file in the chroot.
cp "$root/home/saved.bin" "$TMP/saved.bin"
mkdir -p "$root$TMP"
cp "$root/home/saved.bin" "$root$TMP/saved.bin"
cat "$TMP/saved.bin" >"$root/mnt/organs/blk_1_ffn_gate.bin"
equal "$(donor_of blk_1_ffn_gate)" '- -' 'a file that the daemon cannot reach'

for mnt in mnt other; do
	umount "$root/$mnt"
done

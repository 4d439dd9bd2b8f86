#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# A file manager that shows a directory causes no measurement, no hash and no line in .log; a drag
# and drop is a graft; the mount has no trash. First the calls of GIO and KIO, as strace shows
# them, then GIO itself if it is installed.
. "${0%/*}/../lib.sh"

need getfattr python3
helpers=$here/../../mount-helpers
count() {
	getfattr --absolute-names --only-values -n "user.organfs.$1" "$MNT"
}
untouched() {
	equal "$(count measured)" 0 "measured by $1"
	equal "$(count hashed)" 0 "hashed by $1"
	equal "$(cat "$MNT/.log")" '' ".log after $1"
}
base=$(use scribe-Q4_K_M)
mount_model "$base"

# List every directory; read status, access and attributes of every entry, and the first bytes of
# every file of unknown name. Known names are in organfs-mime.xml and, for .svg, in the desktops'
# shared database.
cat >"$TMP/pass.py" <<'END'
import ctypes, fnmatch, os, sys, xml.etree.ElementTree as ET

root, types = sys.argv[1:]
known = [g.get("pattern") for g in ET.parse(types).iter() if g.tag.endswith("}glob")] + ["*.svg"]
libc = ctypes.CDLL(None, use_errno=True)
watches = libc.inotify_init1(os.O_CLOEXEC)
looked_for = """.hidden .directory .Trash .Trash-%d .DS_Store ._.DS_Store autorun.inf .autorun
    autorun autorun.sh .xdg-volume-info .thumbnails Thumbs.db desktop.ini .git .svn .hg .bzr CVS
    .nomedia .comments .localized .fuse_hidden BDMV VIDEO_TS DCIM .trackerignore""" % os.getuid()
opened = 0
for directory, _, files in os.walk(root):
    if libc.inotify_add_watch(watches, os.fsencode(directory), 0xfff) < 0:
        sys.exit("no inotify watch of " + directory)
    for name in looked_for.split():
        path = os.path.join(directory, name)
        assert not os.path.lexists(path), path
        for flags in os.O_RDONLY, os.O_RDONLY | os.O_NOATIME:
            try:
                os.open(path, flags)
                sys.exit("opened " + path)
            except FileNotFoundError:
                pass
    with os.scandir(directory) as entries:
        for entry in entries:
            path = entry.path
            os.lstat(path), os.stat(path), os.statvfs(path)
            for mode in os.F_OK, os.R_OK, os.W_OK, os.X_OK:
                os.access(path, mode)
            for attribute in os.listxattr(path):
                os.getxattr(path, attribute)
            for attribute in "user.xdg.tags", "user.baloo.rating", "user.xdg.comment", \
                    "security.selinux", "system.posix_acl_access", "user.mime_type":
                try:
                    os.getxattr(path, attribute)
                    sys.exit(path + " has " + attribute)
                except OSError:
                    pass
            if entry.is_dir() or any(fnmatch.fnmatchcase(entry.name, glob) for glob in known):
                continue
            opened += 1
            for flags, most in (os.O_NOATIME, 4096), (0, 16384), (0, 65536):
                fd = os.open(path, os.O_RDONLY | flags)
                size = os.fstat(fd).st_size
                assert len(os.read(fd, most)) == min(most, size), path
                os.close(fd)
assert opened > 60, "only %d files opened" % opened
END
for _ in 1 2; do
	python3 "$TMP/pass.py" "$MNT" "$helpers/organfs-mime.xml" || fail 'as a file manager'
	untouched 'a file manager'
done
stat -f "$MNT" "$MNT/organs" >/dev/null
untouched statfs

# A trash cannot be made, so the user is asked to delete for good.
for trash in .Trash .Trash-0 ".Trash-$(id -u)" ".Trash-$(id -u)/files"; do
	! mkdir -m 700 "$MNT/$trash" 2>/dev/null || fail "made $trash"
done
untouched 'a trash'

# A drop into the window writes under another name and renames, and keeps the old content until
# then. Copy $1 by way of $2 onto $3.
organ=$TMP/blk_3_ffn_up.bin
cp "$MNT/organs/blk_1_ffn_up.bin" "$organ"
drop() {
	(set -C && cat "$1" >"$MNT/organs/$2") 2>/dev/null || fail "cannot write $2"
	mv -fT "$MNT/organs/$2" "$MNT/organs/$3" 2>"$TMP/err"
}
listing() {
	find "$MNT" -name '*.log' -prune -o -printf '%P\n' | sort
}
listing >"$TMP/before"
n=2
for way in .goutputstream-NH2BZ3 blk_3_ffn_up.bin.part .blk_4_ffn_up.bin.a1B2c3; do
	ln "$MNT/organs/blk_${n}_ffn_up.bin" "$MNT/organs/blk_${n}_ffn_up.bin~"
	drop "$organ" $way blk_${n}_ffn_up.bin || fail "$way: $(cat "$TMP/err")"
	rm "$MNT/organs/blk_${n}_ffn_up.bin~"
	same "$MNT/organs/blk_${n}_ffn_up.bin" "$organ"
	n=$((n + 1))
done
equal "$(wc -l <"$MNT/.grafts")" 3 grafts
untouched 'a drop'
! drop "$base" .goutputstream-ABCDEF blk_5_ffn_up.bin || fail 'a model is taken for an organ'
log_says 'blk_5_ffn_up.bin: graft refused'
rm -f "$MNT/organs/.goutputstream-ABCDEF"
listing | diff "$TMP/before" - || fail 'something was left'
equal "$(count measured)" 0
# The counters do work.
cat "$MNT/organs/blk_0_ffn_up.theta" >/dev/null
equal "$(count measured)" 1
rm -f "$MNT"/organs/blk_[234]_ffn_up.bin
for n in 2 3 4; do
	cp "$MNT/.base/organs/blk_${n}_ffn_up.bin" "$MNT/organs/"
done
unmount_and_wait

command -v gio >/dev/null && command -v update-mime-database >/dev/null || exit 0
export XDG_DATA_HOME=$TMP/data HOME=$TMP
mkdir -p "$TMP/data/mime/packages"
cp "$helpers/organfs-mime.xml" "$TMP/data/mime/packages/organfs.xml"
update-mime-database "$TMP/data/mime"
mount_model "$base"
find "$MNT" -type d | while read -r directory; do
	gio list -h -a '*' "$directory" >/dev/null || fail "gio list $directory"
	# GIO reads extended attributes one by one too.
	find "$directory" -maxdepth 1 -exec gio info -a '*' {} + >/dev/null || fail "gio info"
done
gio info -f -a '*' "$MNT" >/dev/null
gio tree -h "$MNT" >/dev/null
untouched GIO
equal "$(gio info -a standard::size "$MNT/model.gguf" | sed -n 's/.*standard::size: //p')" \
	"$(stat -c %s "$base")" 'size'
expect_fail 'trash' gio trash "$MNT/organs/blk_1_ffn_up.bin"
exists "$MNT/organs/blk_1_ffn_up.bin"
equal "$(cat "$MNT/.grafts")" '' 'after gio trash'
gio copy "$organ" "$MNT/organs/" || fail 'gio copy'
gio copy -p -b "$organ" "$MNT/organs/blk_4_ffn_up.bin" >/dev/null || fail 'gio copy with a backup'
untouched 'gio copy'
same "$MNT/organs/blk_4_ffn_up.bin" "$organ"
equal "$(cut -f 1,2 "$MNT/.grafts")" "$(printf 'organs/blk_%d_ffn_up.bin\tcopy\n' 3 4)"
expect_fail 'not permitted' gio copy "$base" "$MNT/organs/blk_5_ffn_up.bin"
# The requested backup ends with the mount.
rm "$MNT/organs/blk_4_ffn_up.bin~"
listing | diff "$TMP/before" - || fail 'gio left something'
gio copy "$MNT/organs/blk_1_ffn_up.bin" "$TMP/out.bin"
same "$TMP/out.bin" "$organ"
equal "$(count measured)" 0
equal "$(count hashed)" 0
unmount_and_wait

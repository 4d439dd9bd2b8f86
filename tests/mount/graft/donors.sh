#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# .grafts names a graft's donor: for tools that have the source open while they copy, for
# references and links; and none if the donor cannot be known.
. "${0%/*}/../lib.sh"

need rsync dd python3
base=$(use scribe-Q4_K_M)
donor=$(use clerk-Q4_K_M)
mkdir "$MNT.donor"
other=$MNT.donor
mount_model "$base"
mount_model -o noassemble "$donor" "$other"

# donor_of NAME: file and tensor of the donor of organs/NAME.bin, from .grafts.
donor_of() {
	awk -F '\t' -v file="organs/$1.bin" '$1 == file { print $8, $9 }' "$MNT/.grafts"
}
from_donor() {
	equal "$(donor_of "$1")" "$donor ${2:-$(tensor "$1")}" "$3"
}
unknown() {
	equal "$(donor_of "$1")" '- -' "$2"
}
tensor() {
	echo "$1" | sed 's/blk_\([0-9]*\)_/blk.\1./; s/$/.weight/'
}
undo() {
	cp "$MNT/.base/organs/$1.bin" "$MNT/organs/"
	equal "$(donor_of "$1")" '' "undo of $1"
}
restore() {
	# A write to a link goes to its target.
	find "$MNT/organs" -type l -delete
	cp "$MNT"/.base/organs/*.bin "$MNT/organs/"
	equal "$(cat "$MNT/.grafts")" ''
}
slot=blk_2_ffn_up

# The copy comes from another mount, by any tool that keeps the source open.
for tool in cp 'cp -a' 'cp --reflink=auto' 'cp --sparse=always' 'install -m 644'; do
	$tool "$other/organs/$slot.bin" "$MNT/organs/"
	from_donor $slot '' "$tool"
	undo $slot
done
cp "$other/organs/$slot.bin" "$MNT/organs/blk_3_ffn_up.bin"
from_donor blk_3_ffn_up blk.2.ffn_up.weight 'cp to another slot'
undo blk_3_ffn_up
cat "$other/organs/$slot.bin" >"$MNT/organs/$slot.bin"
from_donor $slot '' 'cat'
undo $slot
dd if="$other/organs/$slot.bin" of="$MNT/organs/$slot.bin" bs=4096 status=none
from_donor $slot '' 'dd'
undo $slot
dd if="$other/organs/$slot.bin" of="$MNT/organs/$slot.bin" bs=1M conv=notrunc status=none
from_donor $slot '' 'dd conv=notrunc'
undo $slot
# A donor is not recognised by name or path.
cp "$other/.base/organs/$slot.bin" "$MNT/organs/new.tmp"
mv "$MNT/organs/new.tmp" "$MNT/organs/$slot.bin"
from_donor $slot '' 'mv of a scratch file'
undo $slot
python3 -c 'import shutil, sys; shutil.copyfile(sys.argv[1], sys.argv[2])' \
	"$other/organs/$slot.bin" "$MNT/organs/$slot.bin"
from_donor $slot '' 'python'
undo $slot
cp -r "$other/organs" "$MNT/"
for name in blk_0_ffn_up blk_5_ffn_down; do
	from_donor $name '' 'cp -r'
done
restore

# The donor is itself a graft.
cp "$other/organs/$slot.bin" "$MNT/organs/"
for tool in cp 'cp -a' ln; do
	$tool -f "$MNT/organs/$slot.bin" "$MNT/organs/blk_4_ffn_up.bin"
	from_donor blk_4_ffn_up blk.2.ffn_up.weight "$tool within"
done
cat "$MNT/organs/$slot.bin" >"$MNT/organs/blk_5_ffn_up.bin"
from_donor blk_5_ffn_up blk.2.ffn_up.weight 'cat within'
mv "$MNT/organs/blk_5_ffn_up.bin" "$MNT/organs/blk_1_ffn_up.bin"
from_donor blk_1_ffn_up blk.2.ffn_up.weight 'mv within'
ln -sf "$MNT/organs/$slot.bin" "$MNT/organs/blk_1_ffn_up.bin"
from_donor blk_1_ffn_up blk.2.ffn_up.weight 'a link to a graft'
restore
cp "$MNT/organs/$slot.bin" "$MNT/organs/blk_1_ffn_up.bin"
equal "$(donor_of blk_1_ffn_up)" "$base blk.2.ffn_up.weight" 'the base'
cat "$MNT/.base/organs/$slot.bin" >"$MNT/organs/blk_3_ffn_up.bin"
equal "$(donor_of blk_3_ffn_up)" "$base blk.2.ffn_up.weight" 'the base, copied'
ln -sf "$other/organs/$slot.bin" "$MNT/organs/blk_4_ffn_up.bin"
from_donor blk_4_ffn_up blk.2.ffn_up.weight 'a link'
restore

# An organ file tells nothing more.
mkdir "$TMP/a b"
cp "$other/organs/$slot.bin" "$TMP/a b/organ"
cp "$TMP/a b/organ" "$MNT/organs/$slot.bin"
equal "$(donor_of $slot)" "$TMP/a%20b/organ -" 'an organ file'
undo $slot

# The donor cannot be known.
cat "$TMP/a b/organ" | cat >"$MNT/organs/$slot.bin"
unknown $slot 'from a pipe'
undo $slot
rsync -a "$TMP/a b/organ" "$MNT/organs/$slot.bin"
unknown $slot 'rsync reads in another process'
undo $slot
# Two open files have the written size, and either may be the donor.
cp "$TMP/a b/organ" "$TMP/twin"
cat "$TMP/a b/organ" >"$MNT/organs/$slot.bin" 9<"$TMP/twin"
unknown $slot 'one of two'
undo $slot
cat "$TMP/a b/organ" >"$MNT/organs/$slot.bin" 9<"$0"
equal "$(donor_of $slot)" "$TMP/a%20b/organ -" 'only one is as long'
# An organ edited in place has no donor.
printf 'x' | dd of="$MNT/organs/$slot.bin" bs=1 seek=1000 conv=notrunc status=none
unknown $slot 'edited in place'
undo $slot
# A great many descriptors do not matter.
python3 - "$TMP/a b/organ" "$MNT/organs/$slot.bin" <<'PYTHON'
import os, resource, sys
most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
many = [os.open("/dev/null", os.O_RDONLY) for _ in range(min(most, 100000) - 20)]
source = open(sys.argv[1], "rb")
open(sys.argv[2], "wb").write(source.read())
PYTHON
unknown $slot 'among many'
undo $slot
# The donors are not held open.
lets_go() {
	! ls -l "/proc/${DAEMON[$MNT]}/fd" | grep -qE "clerk|$other|a b"
}
until_true 60 lets_go || fail "held: $(ls -l "/proc/${DAEMON[$MNT]}/fd")"
unmount_and_wait
unmount_and_wait "$other"

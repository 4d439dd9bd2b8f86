#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The extended attributes of an organ file; foreign ones are refused, not stored.
. "${0%/*}/../lib.sh"

need getfattr setfattr
base=$(use scribe-Q4_K_M)
mount_model "$base"
organ=$MNT/organs/blk_3_ffn_down.bin
attribute() {
	getfattr --only-values -n "user.organfs.$1" "${2:-$organ}" 2>/dev/null
}

equal "$(attribute tensor)" blk.3.ffn_down.weight
equal "$(attribute class)" organs
equal "$(attribute block)" 3
equal "$(attribute shape)" 512x256
info=$("$GGUF" organs "$base" | grep -P '^blk\.3\.ffn_down\.weight\t')
equal "$(attribute type)" "$(cut -f 2 <<<"$info")"
equal "$(attribute extent)" "$base:$(cut -f 4,5 --output-delimiter=: <<<"$info")"
! attribute graft || fail 'a graft where there is none'
! attribute block "$MNT/embed/output.bin" || fail 'output is in no block'
! attribute nonsense || fail 'an attribute out of nowhere'
! getfattr -n security.capability "$organ" 2>/dev/null || fail 'a capability'
listed=$(getfattr -d -m - "$organ" 2>/dev/null) # as a file manager reads
for name in theta signal entropy kurtosis spacing magnitude min max mean deviation zeros xxh128; do
	! grep -q "organfs\.$name=" <<<"$listed" || fail "$name is listed"
	[ -n "$(attribute $name)" ] || fail "no attribute $name"
done

# A buffer of the value's size suffices; a smaller one gives ERANGE (getxattr(2)).
python3 - "$organ" <<'EOF'
import ctypes
import errno
import os
import sys
getxattr = ctypes.CDLL(None, use_errno=True).getxattr
getxattr.restype = ctypes.c_ssize_t
path, name = os.fsencode(sys.argv[1]), b'user.organfs.tensor'
value = os.getxattr(path, name)
room = ctypes.create_string_buffer(len(value))
assert getxattr(path, name, room, len(value)) == len(value) and room.raw == value
assert getxattr(path, name, room, len(value) - 1) == -1
assert ctypes.get_errno() == errno.ERANGE
EOF

cp "$MNT/organs/blk_4_ffn_down.bin" "$TMP/organ.bin"
cp "$TMP/organ.bin" "$organ"
[ -n "$(attribute graft)" ] || fail 'no graft attribute'
equal "$(attribute tensor)" blk.3.ffn_down.weight 'tensor after the graft'
before=$(getfattr -d -m - "$organ" 2>/dev/null)
setfattr -n user.organfs.shape -v 1x1 "$organ" 2>/dev/null || true
setfattr -x user.organfs.tensor "$organ" 2>/dev/null || true
equal "$(getfattr -d -m - "$organ" 2>/dev/null)" "$before" 'attributes after setfattr'
unmount_and_wait

#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# A base that shrinks under the mount: reads of the lost part fail with EIO, and return neither
# zeros nor fewer bytes.
. "${0%/*}/../lib.sh"

base=$(use scribe-Q4_K_M)
cp "$base" "$TMP/whole.gguf"
mount_model "$base"
truncate -s 1000000 "$base"

# Every read of an organ is complete and right, or fails.
check_reads() {
	PYTHONPATH=${GGUF%/*} python3 - "$TMP/whole.gguf" "$MNT" <<'END'
import errno, glob, os, sys
import gguf
model = gguf.Model(sys.argv[1])
failed = 0
for path in glob.glob(sys.argv[2] + "/*/*.bin"):
    try:
        t = model.tensor(os.getxattr(path, "user.organfs.tensor"))
        with open(path, "rb") as f:
            content = f.read()
    except OSError as error:
        if error.errno != errno.EIO:
            sys.exit(f"{path}: {error}")
        failed += 1
        continue
    if content != gguf.organ_header(t) + model.data(t):
        sys.exit(f"{path}: {len(content)} bytes that are not the tensor's")
if failed < 10:
    sys.exit(f"only {failed} organs are lost")
END
}

check_reads
expect_fail 'input/output error' cat "$MNT/model.gguf"
expect_fail 'input/output error' cp "$MNT/model.gguf" "$TMP/copy.gguf"
# A mapped read of the lost part raises SIGBUS, as in every filesystem, and gives no zeros.
python3 - "$MNT/model.gguf" 2>/dev/null <<'END' && fail 'a lost page was mapped'
import mmap, os, sys
f = os.open(sys.argv[1], os.O_RDONLY)
m = mmap.mmap(f, os.fstat(f).st_size, mmap.MAP_SHARED, mmap.PROT_READ)
print(sum(m[2000000:2100000]))
END
expect_fail 'input/output error|failed|write error' \
	bash -c "echo '$TMP/assembled.gguf' >'$MNT/.assemble'"
absent "$TMP/assembled.gguf"
no_litter "$TMP" '*[a-z]'
ls -lR "$MNT" >/dev/null
kill -0 "${DAEMON[$MNT]}" || fail 'the daemon died'
check_reads
unmount_and_wait

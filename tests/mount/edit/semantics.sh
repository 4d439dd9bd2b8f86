#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Every file operation behaves as in the table of organfs.5, and each success survives a kill of
# the daemon.
. "${0%/*}/../lib.sh"

base=$(use scribe-Q4_K_M)
donor=$(use clerk-Q4_K_M)
mkdir "$TMP/donor" "$TMP/disk"
mount_model -o noassemble "$base"
mount_model -o ro "$donor" "$TMP/donor"
"$here/../tools/semantics.py" "$MNT" "$TMP/donor" "$TMP/disk" ||
	fail 'otherwise than organfs.5 says'
cut -f 1-6 "$MNT/.grafts" | sort >"$TMP/before"
echo x >"$MNT/organs/scratch.tmp"
# The slot is written with fsync(), but not closed.
slot=organs/blk_4_ffn_up.bin
python3 - "$MNT/$slot" "$TMP/donor/$slot" "${DAEMON[$MNT]}" <<'END'
import os, sys
slot, organ, daemon = sys.argv[1:]
fd = os.open(slot, os.O_WRONLY | os.O_TRUNC)
os.write(fd, open(organ, "rb").read())
os.fsync(fd)
os.kill(int(daemon), 9)
END
wait "${DAEMON[$MNT]}" 2>/dev/null || true
expect_fail 'not connected' ls "$MNT/norm"
fusermount3 -u "$MNT"
mount_model -o noassemble "$base"
cut -f 1-6 "$MNT/.grafts" | sort | diff "$TMP/before" - ||
	fail 'the grafts are others after a crash'
log_says 'took up 8 grafts'
absent "$MNT/organs/scratch.tmp"
unmount_and_wait
unmount_and_wait "$TMP/donor"

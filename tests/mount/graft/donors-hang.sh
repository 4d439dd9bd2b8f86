#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# A donor whose filesystem does not answer: the graft waits for some seconds, no other process
# does, and the donor stays unknown. The unmount does not wait for it.
. "${0%/*}/../lib.sh"

need python3
base=$(use scribe-Q4_K_M)
other=$MNT.donor
mkdir "$other"
mount_model "$base"
mount_model -o ro "$(use clerk-Q4_K_M)" "$other"

# writer N GO: open N organs of the other mount, and write the first one's bytes to its slot.
cat >"$TMP/writer" <<'PYTHON'
import os, sys, time
other, mnt, name, go = sys.argv[1:]
source = open(f"{other}/organs/{name}.bin", "rb")
data = source.read()
open(go + ".ready", "w").close()
while not os.path.exists(go):
    time.sleep(0.01)
with open(f"{mnt}/organs/{name}.bin", "wb") as out:
    out.write(data)
PYTHON
writers=()
for name in blk_0_ffn_up blk_1_ffn_up blk_2_ffn_up; do
	python3 "$TMP/writer" "$other" "$MNT" $name "$TMP/go" &
	writers+=($!)
	until_true 60 test -e "$TMP/go.ready" || late 'the writer did not begin'
	rm "$TMP/go.ready"
done
stop "${DAEMON[$other]}"
touch "$TMP/go"
until_true 60 eval "wait_inside ${writers[0]} || is_gone ${writers[0]}" ||
	late 'a writer does not wait'
ls -lR "$MNT" >/dev/null || fail 'others fail'
cat "$MNT/organs/blk_3_ffn_up.bin" >/dev/null || fail 'readers fail'
! is_gone "${writers[0]}" || ! is_gone "${writers[1]}" || ! is_gone "${writers[2]}" ||
	late 'others wait as long as the writers'
for pid in "${writers[@]}"; do
	wait "$pid" || fail 'a graft failed'
done
equal "$(cut -f 8,9 "$MNT/.grafts" | sort -u)" "-	-"
in_time 60 cat "$MNT/.check" >/dev/null || fail '.check does not answer'
unmount
# LeakSanitizer would wait for the hung threads at exit.
grep -q __asan_init "$ORGANFS" || wait_daemon
kill -CONT "${DAEMON[$other]}"
# The first daemon's threads keep files of the mount open until they are answered.
is_unmounted() {
	fusermount3 -u "$other" 2>/dev/null
}
until_true 60 is_unmounted || fail "$other is in use"
wait_daemon "$other"
[ -z "${DAEMON[$MNT]-}" ] || wait_daemon

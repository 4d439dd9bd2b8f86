#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# A link of .diff leads to a mount whose daemon stops while its metadata are read: any number of
# processes may open the file and give up; the rest of the mount works, and the link can be removed
# and made again. Loops of .diff files do not hang either.
. "${0%/*}/../lib.sh"

with_clock
D=$MNT/.diff
other=$TMP/other
# hang: the model is parsed and no longer cached, so the command has to read values. $waiting is
# its process.
hang() {
	stat "$D/x.tsv" >"$TMP/stat"
	dd if="$other/model.gguf" iflag=nocache count=0 status=none
	stop "${DAEMON[$other]}"
	"$@" >"$TMP/stat" 2>&1 &
	waiting=$!
	until_true 60 has_thread_inside "${DAEMON[$MNT]}" || late "$* does not wait"
	! is_gone $waiting || fail "$* has values that are not in memory"
}
# ends PID: it ends before the daemon's clock has gained a minute, without such a wait.
ends() {
	local s
	for ((s = 0; s < 60; s++)); do
		! is_gone "$1" || return 0
		later 1
		read -rt 0.02 -u "$EMPTY_PIPE" _ || true
	done
	until_true 20 is_gone "$1"
}
# The daemon has a second to answer.
kill_waiting() {
	kill -KILL $waiting 2>/dev/null || true
	ends $waiting || fail 'a reader cannot be killed'
}

# mount_both MODEL OTHER: link to the other mount, not to a file on disk.
mount_both() {
	mount_model -o noassemble,fresh "$1"
	mount_model -o noassemble,fresh "$2" "$other"
	cp "$other/organs/blk_1_ffn_up.bin" "$other/organs/blk_2_ffn_up.bin"
	ln -s "$other" "$D/x.gguf"
}

# A helper of a table's readers measures no θ, and the link can be removed even during the read of
# the first sample: no tensor has one type in both.
mount_both "$(use stories260K)" "$(use stories260K-q8_0)"
hang cat "$D/x.tsv"
kill_waiting
readers=()
for ((i = 0; i < 2; i++)); do
	cat "$D/x.tsv" >"$TMP/table" 2>&1 &
	readers+=($!)
done
until_true 60 wait_inside "${readers[@]}" || late 'no reader waits'
in_time 20 cat "$MNT/organs/.theta" >"$TMP/theta" || fail 'readers of .diff keep θ'
in_time 15 rm "$D/x.gguf" || fail 'the link cannot be removed while its table is read'
in_time 10 ls -A "$D" >"$TMP/list" || fail 'no listing'
kill -CONT "${DAEMON[$other]}"
wait "${readers[@]}" || true
unmount_and_wait
unmount_and_wait "$other"

mount_both "$(use scribe-Q4_K_M)" "$(use clerk-Q4_K_M)"
hang stat "$D/x"
kill_waiting
# More processes give up than there are threads for them. A late one finds that the second is over.
for ((i = 0; i < 40; i++)); do
	stat "$D/x" >"$TMP/stat" 2>&1 &
	waiting=$!
	until_true 60 eval "wait_inside $waiting || is_gone $waiting" || late "$i: no process waits"
	kill_waiting
done
in_time 20 cat "$MNT/organs/.theta" >"$TMP/theta" || fail 'the mount hangs'
in_time 15 rm "$D/x.gguf" || fail 'the link cannot be removed'
in_time 10 ls -A "$D" >"$TMP/list" || fail 'no listing'
ln -s "$TMP/clerk-Q4_K_M.gguf" "$D/x.gguf"
in_time 20 grep -q '^mean  all' "$D/x" || fail 'a new link of the name'
kill -CONT "${DAEMON[$other]}"
rm "$D/x.gguf"

# Each of two files of .diff is made from the other.
ln -s "$MNT/.diff/a.tsv" "$other/.diff/b.gguf"
ln -s "$other/.diff/b.tsv" "$D/a.gguf"
for circle in "$D/a.tsv" "$other/.diff/b.tsv"; do
	grep -q '^# there is nothing' "$circle" &
	ends $! || fail 'a circle hangs'
	wait $! || fail 'a circle'
done
rm "$D/a.gguf" "$other/.diff/b.gguf"
# No file of the other mount is open any more, although the kernel still knows files of .diff.
unmount_and_wait "$other"
unmount_and_wait

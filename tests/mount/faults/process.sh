#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# timeout: 300
# Faults of the daemon's process: it is stopped and continued, has no descriptor or memory left, or
# its connection is aborted. Confirmed changes stay, requests that it cannot serve fail, and it
# recovers with its resources; after the abort the next mount has all changes.
. "${0%/*}/../lib.sh"

need prlimit
with_clock
base=$(use stories260K)
for block in 0 1 2 3 4; do
	"$GGUF" organ "$MODELS/stories260K-donor.gguf" blk.$block.ffn_up.weight "$TMP/$block.bin"
	"$GGUF" organ "$base" blk.$block.ffn_up.weight "$TMP/old_$block.bin"
done
mount_model -o "noassemble,layer=$TMP/layer" "$base"
pid=${DAEMON[$MNT]}
slot() {
	echo "$MNT/organs/blk_$1_ffn_up.bin"
}
cp "$TMP/0.bin" "$(slot 0)"
cat "$MNT/model.gguf" "$MNT/.theta" >/dev/null

# Requests to a stopped daemon wait, and are answered when it continues.
stop "$pid"
cp "$TMP/1.bin" "$(slot 1)" &
writer=$!
cat "$(slot 2)" >"$TMP/is" &
reader=$!
cat "$(slot 3)" >/dev/null 2>&1 &
killed=$!
until_true 60 wait_inside $writer $reader $killed || late 'a process does not wait'
kill $killed
until_true 60 is_gone $killed || fail 'a reader that waits cannot be killed'
kill -CONT "$pid"
wait $writer || fail 'the writer failed'
wait $reader || fail 'the reader failed'
same "$TMP/is" "$TMP/old_2.bin"
same "$(slot 1)" "$TMP/1.bin"
cp "$MNT/.base/organs/blk_1_ffn_up.bin" "$(slot 1)"

# A long stop while many processes open organs for writing: an open() has two steps, and after 10 s
# the daemon forgets the thread that has made the first. opens.py prints a byte for each open().
cat >"$TMP/opens.py" <<'END'
import os, sys, threading

stopped, failures = threading.Event(), []


def opens(path):
    while not stopped.is_set():
        try:
            os.close(os.open(path, os.O_WRONLY))
        except OSError as error:
            failures.append(str(error))
        os.write(1, b".")


threads = [threading.Thread(target=opens, args=(path,)) for path in sys.argv[1:] * 5]
for thread in threads:
    thread.start()
sys.stdin.read()
stopped.set()
for thread in threads:
    thread.join()
sys.exit("\n".join(failures[:5]) or 0)
END
mkfifo "$TMP/end"
python3 "$TMP/opens.py" "$(slot 1)" "$(slot 2)" "$(slot 3)" "$(slot 4)" \
	<"$TMP/end" >"$TMP/opened" &
writers=$!
exec 9>"$TMP/end"
has_opened() {
	[ "$(stat -c %s "$TMP/opened")" -ge "$1" ]
}
others_wait() {
	local task
	for task in "/proc/$1/task/"*; do
		[ "${task##*/}" = "$1" ] || wait_inside "${task##*/}" || return 1
	done
}
until_true 60 has_opened 100 || late 'nothing is opened'
kill -STOP "$pid"
until_true 60 others_wait $writers || late 'a thread does not wait'
later 12
kill -CONT "$pid"
exec 9>&-
wait $writers || fail 'an open() failed'

# tries NAME: edits and reads succeed or fail, each as a whole.
tries() {
	local block refused=0
	for block in 1 2 3 4; do
		if in_time 60 cp "$TMP/$block.bin" "$(slot $block)" 2>"$TMP/said"; then
			same "$(slot $block)" "$TMP/$block.bin"
			in_time 60 cp "$MNT/.base/organs/blk_${block}_ffn_up.bin" "$(slot $block)" \
				2>>"$TMP/said" || refused=$((refused + 1))
		else
			refused=$((refused + 1))
		fi
		in_time 60 dd if="$MNT/model.gguf" of="$TMP/is" iflag=direct bs=1M status=none \
			2>>"$TMP/said" || refused=$((refused + 1))
		in_time 60 ls -l "$MNT/organs" >"$TMP/list" 2>>"$TMP/said" ||
			refused=$((refused + 1))
		in_time 60 cat "$MNT/norm/blk_${block}_attn_norm.theta" "$MNT/.check" \
			"$MNT/manifest.json" >"$TMP/texts" 2>>"$TMP/said" ||
			refused=$((refused + 1))
	done
	[ $refused -ge "${2-0}" ] || fail "$1: nothing is refused"
	kill -0 "$pid" || fail "$1: the daemon died"
}
# When resources are free again, everything succeeds.
heals() {
	local block
	for block in 1 2 3 4; do
		cp "$TMP/$block.bin" "$(slot $block)" || fail "$1: no graft: $(cat "$MNT/.log")"
		same "$(slot $block)" "$TMP/$block.bin"
		cp "$MNT/.base/organs/blk_${block}_ffn_up.bin" "$(slot $block)"
		same "$(slot $block)" "$TMP/old_$block.bin"
		cat "$MNT/norm/blk_${block}_attn_norm.theta" "$MNT/.check" "$MNT/manifest.json" \
			"$MNT/.theta" "$MNT/checksums.xxh128" >/dev/null || fail "$1: no texts"
	done
	same "$(slot 0)" "$TMP/0.bin"
	equal "$(cut -f 1 "$MNT/.grafts")" organs/blk_0_ffn_up.bin "$1"
}
heals 'as it is'
before=$(descriptors)
soft=$(prlimit --pid "$pid" --nofile --noheadings -o SOFT)
# The lowest free descriptor becomes the limit, so no new one is given.
free=0
while [ -e "/proc/$pid/fd/$free" ]; do
	free=$((free + 1))
done
for more in 0 1 2 3 5; do
	prlimit --pid "$pid" --nofile=$((free + more)):
	tries "$more descriptors" $((more == 0))
	prlimit --pid "$pid" --nofile="$soft":
	heals "$more descriptors"
done
no_leak $((before + 2))

# Under a sanitizer an allocation does not fail, or ends the process.
if ! grep -q '__[at]san_init' "$ORGANFS"; then
	for more in 0 64 200 1000 9000; do
		size=$(awk '/^VmSize/ { print $2 }' "/proc/$pid/status")
		prlimit --pid "$pid" --as=$(((size + more) * 1024)):
		tries "$more KiB"
		prlimit --pid "$pid" --as=unlimited:
		heals "$more KiB"
	done

	# A request that needs a new thread fails, but not with EAGAIN, which would tell the reader
	# of a pipe.
	mkdir "$TMP/fresh"
	mount_model -o ro "$base" "$TMP/fresh"
	fresh=${DAEMON[$TMP/fresh]}
	size=$(awk '/^VmSize/ { print $2 }' "/proc/$fresh/status")
	prlimit --pid "$fresh" --as=$((size * 1024)):
	for name in organs/blk_1_ffn_up.theta .theta checksums.xxh128; do
		expect_fail 'cannot allocate memory' in_time 60 cat "$TMP/fresh/$name"
	done
	prlimit --pid "$fresh" --as=unlimited:
	for name in organs/blk_1_ffn_up.theta .theta checksums.xxh128; do
		cat "$TMP/fresh/$name" >/dev/null
	done
	same "$TMP/fresh/organs/blk_1_ffn_up.bin" "$TMP/old_1.bin"
	same "$TMP/fresh/model.gguf" "$base"
	unmount_and_wait "$TMP/fresh"
fi

# The connection is aborted, as by an administrator.
connections=$TMP/connections
mkdir "$connections"
mount -t fusectl fusectl "$connections" 2>/dev/null || true
device=$(python3 -c 'import os, sys; print(os.minor(os.stat(sys.argv[1]).st_dev))' "$MNT")
if [ -w "$connections/$device/abort" ]; then
	echo 1 >"$connections/$device/abort"
	expect_fail 'not connected|abort' cat "$(slot 0)"
	until_true 60 is_gone "$pid" || fail 'the daemon stays'
	wait "$pid" 2>/dev/null || true
	unset "DAEMON[$MNT]"
	umount "$connections"
	fusermount3 -uz "$MNT" 2>/dev/null || umount -l "$MNT" 2>/dev/null || true
	mount_model -o "noassemble,layer=$TMP/layer" "$base"
	pid=${DAEMON[$MNT]}
	heals 'the next mount'
fi
unmount_and_wait

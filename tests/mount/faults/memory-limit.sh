#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# plain: sanitizers need memory of their own
# timeout: 300
# A daemon in a control group with little memory keeps the limit. A request that needs more fails,
# or the kernel kills the daemon: the next mount has the confirmed changes, and no half change.
. "${0%/*}/../lib.sh"

need_root

# make_group: make $GROUP, below the test's group or at the top, with the limit $MOST.
make_group() {
	local top own name
	top=$(findmnt -nt cgroup -O memory -o TARGET | head -n 1)
	if [ -n "$top" ]; then
		name=memory.limit_in_bytes
		own=$(sed -n 's/^[0-9]*:\([^:]*,\)*memory\(,[^:]*\)*://p' /proc/self/cgroup)
	else
		top=$(findmnt -nt cgroup2 -o TARGET | head -n 1)
		name=memory.max
		own=$(sed -n 's/^0:://p' /proc/self/cgroup)
	fi
	[ -n "$top" ] || skip 'no control groups here'
	for GROUP in "$top$own/organfs-test-$$" "$top/organfs-test-$$"; do
		mkdir "$GROUP" 2>/dev/null || continue
		MOST=$GROUP/$name
		[ ! -w "$MOST" ] || return 0
		rmdir "$GROUP"
	done
	skip 'no control group with a limit of memory can be made here'
}
# mount_with BYTES: mount with that memory for the daemon.
mount_with() {
	echo "$1" >"$MOST" || skip "the limit of $MOST cannot be set"
	ORGANFS=$TMP/organfs mount_model -o "noassemble,layer=$TMP/layer" "$base"
	pid=${DAEMON[$MNT]}
	grep -q "organfs-test-$$" "/proc/$pid/cgroup" || fail "$(cat "/proc/$pid/cgroup")"
}

base=$(use stories260K)
slot() {
	echo "$MNT/organs/blk_$1_ffn_up.bin"
}
# save_organs MODEL NAME: unpack it.
save_organs() {
	mount_model -o ro "$1"
	for block in 0 1 2 3 4; do
		cp "$(slot $block)" "$TMP/$2_$block"
	done
	unmount_and_wait
}
save_organs "$MODELS/stories260K-donor.gguf" new
save_organs "$base" old
! cmp -s "$TMP/new_0" "$TMP/old_0" || fail 'the donor is the base'
make_group
trap 'until_true 20 rmdir "$GROUP" 2>/dev/null || true' EXIT
cat >"$TMP/organfs" <<END
#!/bin/sh
echo \$\$ >"$GROUP/cgroup.procs" && exec "$ORGANFS" "\$@"
END
chmod +x "$TMP/organfs"

# With 48 MiB, and 2 for each processor's threads, the daemon does all its work, also with more
# bytes than that in files being written.
mount_with $((48 + 2 * $(nproc)))M
cp "$TMP/new_0" "$(slot 0)"
python3 - "$MNT/organs" <<'END' >"$TMP/held" 2>&1 || fail "$(cat "$TMP/held")"
import os, sys
held = []
for i in range(60 + 2 * os.cpu_count()):
    held.append(os.open(f"{sys.argv[1]}/.held{i}", os.O_RDWR | os.O_CREAT))
    assert os.write(held[-1], bytes([i % 256]) * 1000000) == 1000000
for i, file in enumerate(held):
    assert os.pread(file, 1000001, 0) == bytes([i % 256]) * 1000000, i
END
find "$MNT" -type f ! -name .assemble -exec cat {} + >/dev/null
cat "$MNT/.views/npy/organs/blk_0_ffn_up.npy" "$MNT/.diff/base.tsv" >/dev/null
echo "$TMP/out.gguf" >"$MNT/.assemble"
same "$TMP/out.gguf" "$MNT/model.gguf"
same "$(slot 0)" "$TMP/new_0"
rm "$MNT/organs/".held*
unmount_and_wait

# 12 MiB do not suffice for all of it at once.
mount_with 12M
while [ ! -e "$TMP/stop" ] && find "$MNT" -type f ! -name .assemble -exec cat {} + >/dev/null; do
	:
done 2>"$TMP/read" &
reader=$!
declare -A is=([0]=new [1]=old [2]=old [3]=old [4]=old)
tried=
for wanted in new old new old new old; do
	for block in 1 2 3 4; do
		[ -z "$tried" ] || break
		if in_time 60 cp "$TMP/${wanted}_$block" "$(slot $block)" 2>>"$TMP/said"; then
			is[$block]=$wanted
		else
			tried=$block
		fi
	done
done
touch "$TMP/stop"
wait $reader || true
if until_true 1 is_gone "$pid"; then
	echo 'the daemon was killed'
	wait "$pid" 2>/dev/null || true
	unset "DAEMON[$MNT]"
	fusermount3 -uz "$MNT"
	[ -n "$tried" ] || [ -s "$TMP/read" ] || fail 'killed, and no process was told'
else
	echo 'the daemon goes on'
	unmount_and_wait
fi

# Confirmed slots have their content; unconfirmed ones have old or new content.
mount_model -o "noassemble,layer=$TMP/layer" "$base"
for block in 0 1 2 3 4; do
	if [ "$block" = "$tried" ]; then
		cmp -s "$(slot $block)" "$TMP/new_$block" || same "$(slot $block)" "$TMP/old_$block"
	else
		same "$(slot $block)" "$TMP/${is[$block]}_$block"
	fi
done
cp "$TMP/new_4" "$(slot 4)"
same "$(slot 4)" "$TMP/new_4"
unmount_and_wait

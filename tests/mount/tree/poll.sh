#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# poll(), select() and epoll wait for a change of .grafts and .log by POLLPRI: on each descriptor
# since its open(), and on no other file. All files are ready for reads and writes.
. "${0%/*}/../lib.sh"

base=$(use stories260K)
organ=organs/blk_0_ffn_up.bin
echo no organ >"$TMP/no-organ"
WAITERS=()

# wait_on CALL FILE: start a process that waits in CALL and writes the events to its own file.
wait_on() {
	local pid
	python3 - "$@" >"$TMP/events-${#WAITERS[@]}" <<'END' &
import os, select, sys
fd = os.open(sys.argv[2], os.O_RDONLY)
if sys.argv[1] == "select":
    print("pri" if select.select([], [], [fd])[2] else "none")
else:
    waiter = select.epoll() if sys.argv[1] == "epoll" else select.poll()
    waiter.register(fd, select.POLLPRI)
    events = waiter.poll()[0][1]
    print("pri" if events == select.POLLPRI else "err" if events == select.POLLERR else events)
END
	pid=$!
	WAITERS+=($pid)
	until_true 60 is_waiting $pid || late "$* does not wait: $(cat "/proc/$pid/wchan")"
}

is_waiting() {
	local where
	{ read -r where || true; } 2>/dev/null <"/proc/$1/wchan" || return 1
	case $where in
	*poll*) ;;
	*) return 1 ;;
	esac
}

# told NUMBER EVENTS: that waiter has ended with these events.
told() {
	wait_in_time "${WAITERS[$1]}"
	equal "$(cat "$TMP/events-$1")" "$2" "waiter $1"
}

wait_in_time() {
	until_true 60 is_gone "$1" || late "process $1 still waits"
	wait "$1" || fail "process $1: $?"
}

refuse() {
	expect_fail 'invalid' cp "$TMP/no-organ" "$1"
}

mount_model -o noassemble "$base"
refuse "$MNT/$organ" # for a line in .log
python3 - "$MNT" $organ <<'END'
import os, select, sys
mnt, organ = sys.argv[1], f"{sys.argv[1]}/{sys.argv[2]}"

def events(fd, of=select.POLLIN | select.POLLPRI | select.POLLOUT | select.POLLERR):
    waiter = select.poll()
    waiter.register(fd, of)
    return waiter.poll(0)[0][1]

def changed(fd):
    seen = events(fd)
    assert seen & ~select.POLLPRI == select.POLLIN | select.POLLOUT, seen
    return seen != select.POLLIN | select.POLLOUT

def opened(name, flags=os.O_RDONLY):
    return os.open(f"{mnt}/{name}", flags)

def content(fd):
    return os.pread(fd, 1 << 16, 0)

def write(path, text):
    with open(path, "w") as file:
        file.write(text)

grafts, log = opened(".grafts"), opened(".log")
others = [opened(name) for name in (".check", ".undo", "model.gguf", sys.argv[2])]
assert not changed(grafts) and not changed(log)
with open(organ, "rb") as file:
    own = file.read()

os.unlink(organ)
assert changed(grafts) and not changed(log)
# The descriptor has the state of its open(); one opened now has the new state.
assert content(grafts) == b"" and changed(grafts)
after = opened(".grafts")
assert b"removed" in content(after) and not changed(after)

for change in (lambda: write(f"{mnt}/organs/blk_1_ffn_up.bin", "no organ"),
               lambda: write(f"{mnt}/.undo", "nonsense\n")):
    log = opened(".log")
    assert not changed(log)
    try:
        change()
        raise SystemExit("not refused")
    except OSError:
        pass
    assert changed(log) and not changed(opened(".log"))
assert not changed(after)

for change in (lambda: write(f"{mnt}/.undo", "all\n"), lambda: write(f"{mnt}/metadata/test.x", "1"),
               lambda: os.unlink(f"{mnt}/metadata/test.x"), lambda: os.unlink(organ)):
    before = opened(".grafts")
    change()
    assert changed(before) and not changed(opened(".grafts"))
before = opened(".grafts", os.O_WRONLY)
with open(f"{mnt}/organs/.new", "wb") as file:
    file.write(own)
assert not changed(before)
os.rename(f"{mnt}/organs/.new", organ)
assert changed(before)
assert not any(map(changed, others))
END

# All processes that wait for .grafts are woken by a change, and again by the next one.
for round in 1 2; do
	WAITERS=()
	for call in poll poll select epoll; do
		wait_on $call "$MNT/.grafts"
	done
	wait_on poll "$MNT/.log"
	wait_on epoll "$MNT/.log"
	rm "$MNT/$organ"
	for i in 0 1 2 3; do
		told $i pri
	done
	for i in 4 5; do
		until_true 60 is_waiting "${WAITERS[$i]}" || fail "waiter $i: .log is the same"
	done
	refuse "$MNT/$organ"
	told 4 pri
	told 5 pri
	echo all >"$MNT/.undo"
done
unmount_and_wait

# A read-only mount has a log too. The mount ends while processes wait.
mount_model -o ro "$base"
WAITERS=()
wait_on poll "$MNT/.log"
wait_on poll "$MNT/.grafts"
printf 'x' | dd of="$base" bs=1 seek=100000 conv=notrunc status=none
expect_fail 'input/output error' cat "$MNT/model.gguf"
told 0 pri
expect_fail 'busy' fusermount3 -u "$MNT"
kill -TERM "${DAEMON[$MNT]}"
told 1 err
wait_daemon

# Each of several models has its own files, and the mount has files of all.
mkdir "$TMP/models"
cp "$MODELS/stories260K.gguf" "$TMP/models/a.gguf"
cp "$MODELS/stories260K-donor.gguf" "$TMP/models/b.gguf"
mount_model -o noassemble "$TMP/models"
WAITERS=()
for log in .log a/.log b/.log; do
	wait_on epoll "$MNT/$log"
done
refuse "$MNT/b/$organ"
told 0 pri
told 2 pri
wait_on poll "$MNT/b/.grafts"
rm "$MNT/b/$organ"
told 3 pri
until_true 60 is_waiting "${WAITERS[1]}" || fail 'a/.log has not changed'
refuse "$MNT/a/$organ"
told 1 pri
unmount_and_wait

# New shards make another model, whose .grafts is another file.
mkdir "$TMP/shards"
cp "$MODELS"/stories260K-split-0000[12]-of-00003.gguf "$TMP/shards"
mount_model -o noassemble "$TMP/shards/stories260K-split-00001-of-00003.gguf"
WAITERS=()
wait_on poll "$MNT/.grafts"
cp "$MODELS/stories260K-split-00003-of-00003.gguf" "$TMP/shards"
kill -HUP "${DAEMON[$MNT]}" # like a look at the directory
told 0 pri
unmount_and_wait

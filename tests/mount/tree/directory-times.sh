#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The kernel caches the time of a directory of grafts. It equals the layer's as soon as a change is
# confirmed: a graft of any kind, a removal, .undo, a key and a touch.
. "${0%/*}/../lib.sh"

base=$(use stories260K)
a=organs/blk_0_ffn_up.bin
b=organs/blk_1_ffn_up.bin
layer=$TMP/layer
mount_model -o "noassemble,layer=$layer" "$base"
cp "$MNT/$a" "$TMP/a"
last=$(($(stat -c %s "$TMP/a") - 1))
printf '\1' | dd of="$TMP/a" bs=1 seek="$last" conv=notrunc status=none
echo first >"$MNT/metadata/test.first"

time_of() {
	stat -c %y "$1"
}

# kept_time DIRECTORY: the layer's time.
kept_time() {
	local ns
	ns=$(layer_sql "$layer" "SELECT printf('%010d', mtime) FROM directory WHERE name = '$1'")
	date -d "@${ns%?????????}.${ns: -9}" '+%F %T.%N %z'
}

# changes DIRECTORY COMMAND...: the directory's time differs after the command, and so does the
# layer's, which records a set time with the next change.
changes() {
	local directory=$1 before other
	shift
	before=$(time_of "$MNT/$directory")
	other=$(time_of "$MNT/norm")
	sleep 0.02 # times on disks have ticks
	"$@" || fail "$*: $?"
	[ "$(time_of "$MNT/$directory")" != "$before" ] || fail "$*: $directory has its old time"
	[ "$1" = touch ] || equal "$(time_of "$MNT/$directory")" "$(kept_time "$directory")" "$*"
	equal "$(time_of "$MNT/norm")" "$other" "$*: norm"
}

within() {
	printf '\2' | dd of="$MNT/$a" bs=1 seek="$last" conv=notrunc status=none
}

by_name() {
	cp "$TMP/a" "$MNT/organs/.new" && mv "$MNT/organs/.new" "$MNT/$a"
}

relink() {
	rm "$MNT/$b" && ln -s "$TMP/a" "$MNT/$b"
}

key() {
	echo "$1" >"$MNT/metadata/test.first"
}

changes organs cp "$TMP/a" "$MNT/$a"
changes organs within
changes organs by_name
changes organs rm "$MNT/$a"
changes organs cp "$TMP/a" "$MNT/$a"
changes organs mv "$MNT/$a" "$MNT/$b"
changes organs relink
changes metadata key second
changes metadata rm "$MNT/metadata/test.first"
changes metadata key third
cp "$TMP/a" "$TMP/b"
printf '\3' | dd of="$TMP/b" bs=1 seek="$last" conv=notrunc status=none
changes organs touch -d '2020-01-02 03:04:05.678' "$MNT/organs"
changes organs sh -c "echo $b >'$MNT/.undo'"

# The writer and the reader differ, and close() confirms.
exec 5>"$MNT/$a"
before=$(time_of "$MNT/organs")
sleep 0.02
cat "$TMP/a" >&5
exec 5>&-
[ "$(time_of "$MNT/organs")" != "$before" ] || fail 'close() left the time'
touch "$TMP/reference"
sleep 0.02
cp "$TMP/a" "$MNT/$b"
equal "$(find "$MNT" -maxdepth 1 -newer "$TMP/reference" -name organs)" "$MNT/organs"

# The oldest possible time.
changes organs touch -d @0 "$MNT/organs"
changes organs cp "$TMP/b" "$MNT/$a"

# Concurrent readers do not make the kernel keep an older time.
cat >"$TMP/hammer.py" <<'END'
import os, shutil, signal, sqlite3, sys, threading
mnt, layer, copy, count = sys.argv[1:]
names = [f"{mnt}/organs/{n}" for n in sorted(os.listdir(f"{mnt}/organs")) if "_up.bin" in n][:4]
content = {n: bytearray(open(n, "rb").read()) for n in names}

def graft(name, i):
    content[name][-1] = i % 256
    with open(name, "wb", buffering=0) as file:
        file.write(content[name])

def kept_time():
    for end in ("", "-wal"):
        shutil.copyfile(f"{layer}/layer.db{end}", f"{copy}{end}")
    with sqlite3.connect(copy) as database:
        query = "SELECT mtime FROM directory WHERE name = 'organs'"
        (time,) = database.execute(query).fetchone()
    database.close()
    return time

lookers = []
for _ in range(4):
    if (pid := os.fork()) == 0:
        while True:
            os.stat(f"{mnt}/organs")
    lookers.append(pid)
for rounds in range(int(count)):
    threads = [threading.Thread(target=graft, args=(name, rounds)) for name in names]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    shown, kept = os.stat(f"{mnt}/organs").st_mtime_ns, kept_time()
    assert shown == kept, f"round {rounds}: {shown} is shown, the layer has {kept}"
for pid in lookers:
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
END
python3 "$TMP/hammer.py" "$MNT" "$layer" "$TMP/copy.db" "$(rounds 250 60)" ||
	fail 'a time from before'

# A set time outlives the mount.
touch -d '2020-01-02 03:04:05.678' "$MNT/organs"
touch -d @0 "$MNT/metadata"
expected=$(time_of "$MNT/organs")
unmount_and_wait
mount_model -o "noassemble,layer=$layer" "$base"
equal "$(time_of "$MNT/organs")" "$expected"
equal "$(stat -c %Y "$MNT/metadata")" 0

# Each of several models has its own time.
unmount_and_wait
cp "$base" "$TMP/second.gguf"
mount_daemon -o noassemble "$base" "$TMP/second.gguf" "$MNT"
one=$(time_of "$MNT/stories260K/organs")
two=$(time_of "$MNT/second/organs")
sleep 0.02
cp "$TMP/a" "$MNT/second/$a"
equal "$(time_of "$MNT/stories260K/organs")" "$one"
[ "$(time_of "$MNT/second/organs")" != "$two" ] || fail 'the second model kept its time'
unmount_and_wait

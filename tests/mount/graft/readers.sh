#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Only a writer's last close puts the content in force. The close of a reader, or of one of several
# writers, changes nothing.
. "${0%/*}/../lib.sh"

need python3
base=$(use stories260K)
mount_model -o noassemble "$base"
mkdir "$TMP/organs"
cp "$MNT/organs/blk_1_ffn_up.bin" "$TMP/organs/whole.bin"
cp "$MNT/organs/blk_2_ffn_up.bin" "$TMP/organs/other.bin"

# Other processes read the file during the write: half of it, and when its bytes are a whole organ,
# though not the intended one yet.
cat >"$TMP/write.py" <<'END_OF_PROGRAM'
import os, subprocess, sys

target, mount, whole, other = sys.argv[1:]
first, last = (open(name, "rb").read() for name in (whole, other))


def look():
    seen = subprocess.run(["cat", target], capture_output=True, check=True).stdout
    subprocess.run(["sha256sum", target], capture_output=True, check=True)
    with open(f"{mount}/.grafts", encoding="utf-8") as file:
        grafts = dict(line.split("\t")[:2] for line in file)
    assert grafts.get(target[len(mount) + 1 :]) in (None, "removed"), "in force before its close"
    return seen


fd = os.open(target, os.O_WRONLY | os.O_CREAT, 0o644)
look()
os.write(fd, first[: len(first) // 2])
assert look() == first[: len(first) // 2]
os.write(fd, first[len(first) // 2 :])
assert look() == first
assert os.pwrite(fd, last, 0) == len(last)
reader = os.open(target, os.O_RDONLY)
os.close(fd)
with open(target, "rb") as file:
    assert file.read() == last, "not in force after the close"
os.close(reader)
END_OF_PROGRAM

before=$(wc -l <"$MNT/.log")
# One slot is new, one was emptied.
slots=(organs/blk_5_ffn_up.bin organs/blk_3_ffn_up.bin)
rm "$MNT/${slots[1]}"
for slot in "${slots[@]}"; do
	python3 "$TMP/write.py" "$MNT/$slot" "$MNT" "$TMP"/organs/{whole,other}.bin ||
		fail "$slot: see above; .log says: $(cat "$MNT/.log")"
	same "$MNT/$slot" "$TMP/organs/other.bin"
	cut -f 1 "$MNT/.grafts" | grep -qx "$slot" || fail "$slot is not in .grafts"
done
equal "$(tail -n +$((before + 1)) "$MNT/.log")" '' 'lines in .log'

# Two writers write a half each: the first to end leaves the file to the other, and so does a child
# that ends before the other has written.
rm "$MNT/organs/blk_3_ffn_up.bin"
cat >"$TMP/two.py" <<'END_OF_PROGRAM'
import os, sys

target, whole, grafts = sys.argv[1:]
organ = open(whole, "rb").read()
half = len(organ) // 2
first = os.open(target, os.O_WRONLY | os.O_CREAT, 0o644)
second = os.open(target, os.O_WRONLY)
os.pwrite(second, organ[half:], half)
os.close(second)
child = os.fork()
if child == 0:
    os._exit(0)
os.waitpid(child, 0)
listed = [line.split("\t") for line in open(grafts, encoding="utf-8")]
assert all(fields[1] != "copy" for fields in listed if "blk_3_ffn_up" in fields[0])
os.pwrite(first, organ[:half], 0)
os.close(first)
END_OF_PROGRAM
python3 "$TMP/two.py" "$MNT/organs/blk_3_ffn_up.bin" "$TMP/organs/whole.bin" "$MNT/.grafts" ||
	fail ".log says: $(cat "$MNT/.log")"
same "$MNT/organs/blk_3_ffn_up.bin" "$TMP/organs/whole.bin"
equal "$(tail -n +$((before + 1)) "$MNT/.log")" '' 'lines in .log'

# A shell opens a descriptor, a child writes to it, and other children inherit it.
rm "$MNT/organs/blk_2_ffn_up.bin"
(
	exec 3>"$MNT/organs/blk_2_ffn_up.bin"
	cat "$TMP/organs/whole.bin" >&3
	true
)
same "$MNT/organs/blk_2_ffn_up.bin" "$TMP/organs/whole.bin"
equal "$(tail -n +$((before + 1)) "$MNT/.log")" '' 'lines in .log'

# A process with the file open to read and write has a child that ends meanwhile.
key=$MNT/metadata/general.name
python3 - "$key" <<'END' || fail "half a value is in force"
import os, sys
key = sys.argv[1]
before = open(key, "rb").read()
fd = os.open(key, os.O_RDWR | os.O_TRUNC)
os.write(fd, b"one ")
child = os.fork()
if child == 0:
    os._exit(0)
os.waitpid(child, 0)
assert open(key, "rb").read() == before, "a child that ended has put it in force"
os.write(fd, b"and another that is longer")
os.close(fd)
END
equal "$(cat "$key")" 'one and another that is longer'

# Likewise for a whole organ copied within the mount, without a write, and for refused content that
# was truncated to an organ.
python3 - "$MNT/organs/blk_"{1,4}_ffn_up.bin "$TMP/organs/other.bin" <<'END' || fail "see above"
import os, sys
target, source, other = sys.argv[1:]
before, there, other = (open(name, "rb").read() for name in (target, source, other))


def child_ends(what):
    child = os.fork()
    if child == 0:
        os._exit(0)
    os.waitpid(child, 0)
    assert open(target, "rb").read() == before, f"a child that ended has put {what} in force"


fd = os.open(target, os.O_WRONLY | os.O_TRUNC)
assert os.copy_file_range(os.open(source, os.O_RDONLY), fd, 1 << 30) == len(there)
child_ends("a copy")
os.close(fd)
before = open(target, "rb").read()
assert before == there, "the copy is not in force"
fd = os.open(target, os.O_RDWR | os.O_TRUNC)
os.write(fd, other + b"more")
try:
    os.close(os.dup(fd))
    raise SystemExit("more than an organ is not refused")
except OSError:
    pass
os.ftruncate(fd, len(other))
child_ends("an end cut off")
os.close(fd)
assert open(target, "rb").read() == other, "content truncated to an organ is not in force"
END

# A write to a copy within the mount during its commit is in force, or fails.
python3 - "$MNT/organs/blk_"{1,4}_ffn_up.bin <<'END' || fail 'a write to a copy is lost'
import errno, os, sys, threading, time
target, source = sys.argv[1:]
with open(source, "rb") as file:
    copy = file.read()
for i in range(60):
    fd = os.open(target, os.O_WRONLY | os.O_TRUNC)
    reader = os.open(source, os.O_RDONLY)
    while os.copy_file_range(reader, fd, 1 << 30):
        pass
    os.close(reader)
    thread = threading.Thread(target=os.close, args=(os.dup(fd),))
    thread.start()
    if i % 3:
        time.sleep(i % 30 * 5e-5)
    mark = bytes([i + 1]) * 64
    try:
        os.pwrite(fd, mark, 20000)
    except OSError as error:
        assert error.errno == errno.ESTALE, error
        mark = copy[20000:20064]
    thread.join()
    os.close(fd)
    with open(target, "rb") as file:
        assert file.read() == copy[:20000] + mark + copy[20064:], i
END

# An empty slot exists while it is filled, before the close, also in listings.
rm "$MNT/organs/blk_4_ffn_up.bin"
(
	exec 3>"$MNT/organs/blk_4_ffn_up.bin"
	equal "$(find "$MNT/organs" -name blk_4_ffn_up.bin | wc -l)" 1 'a file that is written'
	cat "$TMP/organs/whole.bin" >&3
)
equal "$(find "$MNT/organs" -name blk_4_ffn_up.bin | wc -l)" 1 'and then'
unmount_and_wait

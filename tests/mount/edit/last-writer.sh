#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Several processes write through one open file: the close of the last writer puts the complete
# content in force. A child that only inherited the file changes nothing when it ends.
. "${0%/*}/../lib.sh"

mount_model -o noassemble "$(use stories260K)"

# Commands in braces share the shell's open file. The first close puts the value in force, and the
# next writer gets an error.
name=$(cat "$MNT/metadata/general.name")
epsilon=$MNT/metadata/llama.attention.layer_norm_rms_epsilon
{
	/usr/bin/printf 1e3
	! /usr/bin/printf 5 2>/dev/null || fail 'a value that is in force is written on'
} >"$epsilon"
equal "$(cat "$epsilon")" 1000
log_says "metadata/${epsilon##*/}: refused: a write after close"
{
	printf 0.0010
	printf 5
} >"$epsilon"
equal "$(cat "$epsilon")" 0.00105
echo other >"$MNT/metadata/general.name"
{
	/usr/bin/printf metadata
	/usr/bin/printf '/general.name\n'
} >"$MNT/.undo"
equal "$(cat "$MNT/metadata/general.name")" "$name"
equal "$(cat "$epsilon")" 0.00105 'the value before the word'
# A command gets the refusal's error, also if the shell opened the file for it.
for shell in dash bash; do
	command -v "$shell" >/dev/null || continue
	! "$shell" -c "cat /etc/hostname >'$MNT/organs/blk_0_ffn_up.bin'" 2>/dev/null ||
		fail "$shell: a file that is no organ is not refused"
	! "$shell" -c "{ cat /etc/hostname; } >'$MNT/.recipe'" 2>/dev/null ||
		fail "$shell: a text that is no recipe is not refused"
done

# A redirected command closes the shell's output file for its duration.
echo other >"$MNT/metadata/general.name"
{
	echo metadata/general.name
	echo 'this goes elsewhere' >"$TMP/elsewhere"
	echo "metadata/${epsilon##*/}"
} >"$MNT/.undo"
equal "$(cat "$MNT/metadata/general.name")" "$name"
equal "$(cat "$epsilon")" 1e-05 'the second word'
echo 0.00105 >"$epsilon"
# Two open files are closed one by one.
exec 3>"$epsilon" 4>"$epsilon"
/usr/bin/printf 2 >&3
equal "$(cat "$epsilon")" 2 'before the shell has closed it'
exec 3>&-
equal "$(cat "$epsilon")" 2 'beside another writer'
exec 4>&-
equal "$(cat "$epsilon")" 2 'by a writer that has written nothing'
echo 0.00105 >"$epsilon"
cat "$MNT/.recipe" >"$TMP/recipe"
echo all >"$MNT/.undo"
{
	head -n 3 "$TMP/recipe" 2>/dev/null || true # this is no recipe yet
	tail -n +4 "$TMP/recipe"
} >"$MNT/.recipe"
equal "$(cat "$epsilon")" 0.00105 'after the recipe'
{
	cat "$TMP/recipe"
	! /usr/bin/printf '# more\n' 2>/dev/null || fail 'a recipe that is in force is written on'
} >"$MNT/.recipe"
log_says '\.recipe: refused: a write after the text was put in force'
# A line of .undo is obeyed with its newline, each line once.
python3 - "$MNT/.undo" "$epsilon" <<'END'
import os, sys
undo, key = sys.argv[1:]


def expect(value, what):
    with open(key, encoding="ascii") as file:
        assert file.read() == value + "\n", what


fd = os.open(undo, os.O_WRONLY)
os.write(fd, b"metadata")
os.close(os.dup(fd))
expect("0.00105", "half a line is obeyed")
os.write(fd, b"\n")
os.close(os.dup(fd))
expect("1e-05", "a line is not obeyed")
with open(key, "w", encoding="ascii") as file:
    file.write("2\n")
os.write(fd, b"# a comment\n")
os.close(fd)
expect("2", "a line is obeyed twice")
END
echo 0.00105 >"$epsilon"
echo all >"$MNT/.undo"

cat >"$TMP/several.py" <<'END'
import errno, mmap, os, subprocess, sys, threading

slot, source = sys.argv[1:]


def read(name):
    with open(name, "rb") as file:
        return file.read()


before = read(slot)
n = len(before)
header = n - 44032
half = header + 22016
meant = before[:header] + b"\0\0\x80?" * 11008


def child(run=lambda: None):
    pid = os.fork()
    if pid == 0:
        run()
        os._exit(0)
    assert os.waitpid(pid, 0)[1] == 0


def expect(content, what):
    assert read(slot) == content, what


# Each process writes a part, and one ends before the other begins.
fd = os.open(slot, os.O_WRONLY | os.O_TRUNC)
os.pwrite(fd, meant[:header], 0)
child()
child(lambda: os.pwrite(fd, meant[header:half], header))
expect(before, "a half is in force")
child(lambda: os.pwrite(fd, meant[half:], half))
expect(meant, "not in force when the process has closed it that wrote last")
os.close(fd)
expect(meant, "the close of another process has changed it")

# A complete file is in force with the close of the last writer's process, even if others could
# still write; a process that writes later gets an error.
fd = os.open(slot, os.O_RDWR)
os.pwrite(fd, b"\x33" * 4000, header)
child()
expect(meant, "in force by a child that has written nothing")
child(lambda: os.pwrite(fd, b"\x44" * 4000, half))
before = meant[:header] + b"\x33" * 4000 + meant[header + 4000 : half] + b"\x44" * 4000
before += meant[half + 4000 :]
expect(before, "not in force")
try:
    os.pwrite(fd, b"\x55", half)
    raise AssertionError("written on")
except OSError as error:
    assert error.errno == errno.ESTALE, error
os.close(fd)

# A process that only passes on its open file does not keep it open.
for _ in range(10):
    before = read(slot)
    meant = before[:header] + os.urandom(1) * 4 * 11008
    with open(slot, "wb") as file:
        process = subprocess.Popen(["cat"], stdin=subprocess.PIPE, stdout=file)
    process.communicate(meant)
    assert process.returncode == 0
    expect(meant, "not in force when the process has ended that wrote it")

# The thread that opened the file, or copied to it, has ended.
for flags, act in (
    (os.O_WRONLY | os.O_TRUNC, lambda fd: os.copy_file_range(os.open(source, 0), fd, 1 << 30)),
    (os.O_RDWR, lambda fd: os.pwrite(fd, b"\x22" * 4000, half)),
):
    before = read(slot)
    opened = []

    def in_thread():
        opened.append(os.open(slot, flags))
        act(opened[0])

    thread = threading.Thread(target=in_thread)
    thread.start()
    thread.join()
    child()
    expect(before, "in force by a child of a process whose thread has ended")
    os.close(opened[0])
    assert read(slot) != before, "not in force"

# The end of a child does not complete writes through a map.
before = read(slot)
fd = os.open(slot, os.O_RDWR)
pages = mmap.mmap(fd, n)
pages[header : header + 4000] = b"\x11" * 4000
subprocess.run(["true"], close_fds=False, check=True)
expect(before, "half a map is in force")
pages[header : header + 8000] = b"\x11" * 8000
pages.close()
os.close(fd)
expect(before[:header] + b"\x11" * 8000 + before[header + 8000 :], "the map is not in force")
END
python3 "$TMP/several.py" "$MNT/organs/blk_1_ffn_up.bin" "$MNT/organs/blk_3_ffn_up.bin" ||
	fail 'see above'
unmount_and_wait

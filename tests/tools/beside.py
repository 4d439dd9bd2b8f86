#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""beside.py - concurrent calls: the results of close(), rename() and unlink() that meet have to be
consistent.

    beside.py aside MOUNT DONOR ROUNDS    rename a slot or key to a private name while it is filled
    beside.py removed MOUNT DONOR         remove a slot that its creator has open
    beside.py moved MOUNT DONOR           move a slot while the process that filled it has it open
    beside.py made MOUNT DONOR ROUNDS     remove or move a slot while it is made
    beside.py experts MOUNT ROUNDS        write one expert while the whole stack is written

DONOR is a model in a mount of its own whose organs fit."""
import errno
import os
import subprocess
import sys
import threading
import time


def read(path):
    with open(path, "rb") as file:
        return file.read()


def write(path, data):
    with open(path, "wb") as file:
        file.write(data)


def check(held, what):
    if not held:
        sys.exit(f"beside.py: {what}")


def outcome(call, *arguments):
    try:
        call(*arguments)
        return 0
    except OSError as error:
        return error.errno


def together(first, second, delay):
    """Results of two concurrent calls; the second begins after the given seconds."""
    said = []
    thread = threading.Thread(target=lambda: said.append(outcome(*first)))
    thread.start()
    time.sleep(delay)
    second = outcome(*second)
    thread.join()
    return said[0], second


def there(path):
    return read(path) if os.path.exists(path) else None


def aside(mount, donor, rounds):
    name = "blk_1_ffn_up.bin"
    places = ((f"{mount}/organs/{name}", f"{mount}/organs/aside", read(f"{mount}/organs/{name}"),
               read(f"{donor}/organs/{name}")),
              (f"{mount}/metadata/general.name", f"{mount}/metadata/general.name.bak",
               b"the first\n", b"the second\n"))
    for i in range(rounds):
        for slot, private, one, two in places:
            write(slot, one)
            fd = os.open(slot, os.O_WRONLY | os.O_TRUNC)
            os.write(fd, two)
            said = together((os.close, fd), (os.rename, slot, private), i % 12 / 2000)
            check(said == (0, 0), f"close() and rename() of {slot} said {said}")
            check(two in (there(slot), there(private)),
                  f"round {i}: the content written to {slot} and closed is lost")
            os.unlink(private)
            write(slot, one)


def removed(mount, donor):
    """Remove a slot that its creator has open and has filled."""
    slot = f"{mount}/organs/blk_2_ffn_up.bin"
    data = read(f"{donor}/organs/blk_2_ffn_up.bin")
    os.unlink(slot)
    fd = os.open(slot, os.O_RDWR | os.O_CREAT | os.O_EXCL)
    os.write(fd, data)
    os.close(os.dup(fd))
    check(read(slot) == data, "the slot is not filled")
    os.unlink(slot)
    check(not os.path.exists(slot), "the slot is there though it was removed")
    check(outcome(os.pwrite, fd, b"x", 0) == errno.ESTALE, "a removed slot is written on")
    os.close(fd)
    check(not os.path.exists(slot), "the slot came back")


def remove_all(names):
    for name in names:
        if os.path.exists(name):
            os.unlink(name)


def changed(data, at):
    return data[:-1] + bytes([data[-1] ^ at])


def moved(mount, donor):
    """A file that has filled a slot or key takes no more writes, wherever the slot is moved. A
    file that has yet to fill the moved slot has no name any more."""
    names = [f"{mount}/organs/blk_{i}_ffn_up.bin" for i in (0, 1, 2, 4)]
    private = f"{mount}/organs/private"
    data = read(f"{donor}/organs/blk_2_ffn_up.bin")
    remove_all(names)
    for first, second in ((names[0], names[1]), (private, names[2])):
        fd = os.open(first, os.O_RDWR | os.O_CREAT | os.O_EXCL)
        os.write(fd, data)
        os.close(os.dup(fd))
        os.rename(first, second)
        check(not os.path.exists(first), f"{first} is there though it was moved")
        check(os.path.basename(first) not in os.listdir(os.path.dirname(first)),
              f"{first} is listed though it was moved")
        check(read(second) == data, f"{second} is not what was moved there")
        check(outcome(os.pwrite, fd, b"x", 0) == errno.ESTALE, f"{second} is written on")
        os.rename(second, names[3])
        check(outcome(os.pwrite, fd, b"x", 0) == errno.ESTALE, f"{names[3]} is written on")
        os.close(fd)
        check(read(names[3]) == data, f"{names[3]} is not what was moved there")
        check(not os.path.exists(second), f"{second} came back")
        os.unlink(names[3])
    # Another process fills the slot, which is moved afterwards.
    fd = os.open(names[0], os.O_WRONLY | os.O_CREAT)
    os.write(fd, data)
    os.close(os.dup(fd))
    filled = os.open(names[0], os.O_WRONLY | os.O_TRUNC)
    os.write(filled, changed(data, 4))
    os.unlink(names[0])
    os.close(fd)
    fd = os.open(names[0], os.O_WRONLY | os.O_CREAT | os.O_EXCL)
    os.close(filled)
    check(read(names[0]) == changed(data, 4), "the slot is not filled")
    os.rename(names[0], names[1])
    os.write(fd, data)
    os.close(fd)
    check(read(names[1]) == changed(data, 4), "the slot is not what was moved there")
    check(not os.path.exists(names[0]), f"{names[0]} came back")
    key = f"{mount}/metadata/organfs.{{}}"
    fd = os.open(key.format("one"), os.O_RDWR | os.O_CREAT)
    os.write(fd, b"text")
    os.close(os.dup(fd))
    os.rename(key.format("one"), key.format("two"))
    check(outcome(os.pwrite, fd, b"T", 0) == errno.ESTALE, "a key is written on")
    os.close(fd)
    check(read(key.format("two")) == b"text\n", "the key is not what was moved there")
    check(not os.path.exists(key.format("one")), "the key's first name came back")


def make(name, data):
    fd = os.open(name, os.O_RDWR | os.O_CREAT | os.O_EXCL)
    os.write(fd, data)
    return fd


def makers(mount, donor, data):
    """Make a new slot in each way that programs use, except for the close: by a copy from an open
    donor, by a copy in the mount, and by an earlier fill."""
    def copied(slot):
        with open(f"{donor}/organs/blk_2_ffn_up.bin", "rb", buffering=0) as source:
            return make(slot, source.read()), data, os.dup(source.fileno())

    def shared(slot):
        source = os.open(f"{mount}/organs/blk_3_ffn_up.bin", os.O_RDONLY)
        size = os.fstat(source).st_size
        fd = os.open(slot, os.O_RDWR | os.O_CREAT | os.O_EXCL)
        os.copy_file_range(source, fd, size)
        return fd, os.pread(source, size, 0), source

    def filled(slot):
        fd = make(slot, data)
        os.close(os.dup(fd))
        return fd, data, os.open("/", os.O_PATH)

    return copied, shared, filled


def taken(slot, private, other, maker, delay):
    """Remove or move the new file while it is closed."""
    for call, to in ((os.unlink, None), (os.rename, private), (os.rename, other)):
        fd, data, source = maker(slot)
        said = together((os.close, fd), (call, slot, *([to] if to else [])), delay)
        os.close(source)
        what = f"{maker.__name__}, {call.__name__}() to {to}"
        check(said == (0, 0), f"{what}: close() and this said {said}")
        time.sleep(0.003)
        check(not os.path.exists(slot), f"{what}: the slot came back")
        check(not to or read(to) == data, f"{what}: it is not what was moved there")
        remove_all((private, other))


def replaced(slot, private, other, data, delay):
    """Replace the new file while it is closed; a refused file leaves no name."""
    for source in (private, other):
        write(source, data)
        fd = make(slot, changed(data, 1))
        said = together((os.close, fd), (os.rename, source, slot), delay)
        check(said == (0, 0), f"close() and rename() of {source} said {said}")
        time.sleep(0.003)
        check(read(slot) == data, f"{source} was renamed to the slot, which is unchanged")
        check(not os.path.exists(source), f"{source} is there though it was moved")
        # The refusal below would undo a removal by this process.
        subprocess.run(["rm", slot], check=True)
    fd = make(slot, data[:-5])
    said = together((os.close, fd), (os.rename, slot, other), delay)
    check(all(said), f"half an organ: close() and rename() said {said}")
    time.sleep(0.005)
    check(not os.path.exists(slot), "half an organ is still there")


def made(mount, donor, rounds):
    slot, other, private = (f"{mount}/organs/{name}" for name in
                            ("blk_0_ffn_up.bin", "blk_1_ffn_up.bin", "private"))
    data = read(f"{donor}/organs/blk_2_ffn_up.bin")
    remove_all((slot, other))
    for i in range(rounds):
        for maker in makers(mount, donor, data):
            taken(slot, private, other, maker, i % 12 / 4000)
        replaced(slot, private, other, data, i % 12 / 4000)
    fd = make(slot, data)
    check(outcome(os.link, slot, private), "a file that is being made gets a second name")
    os.close(fd)


def experts(mount, rounds):
    stack = f"{mount}/organs/blk_1_ffn_up_exps.bin"
    expert = f"{mount}/.views/experts/organs/blk_1_ffn_up_exps/000.bin"
    whole, slice_ = read(stack), read(expert)
    for i in range(rounds):
        other = bytearray(whole)
        other[-64:] = bytes([i % 50]) * 64
        ready = os.open(stack, os.O_WRONLY | os.O_TRUNC)
        os.write(ready, other)
        fd = os.open(expert, os.O_WRONLY | os.O_TRUNC)
        os.write(fd, slice_)
        said = together((os.close, fd), (os.close, ready), i % 12 / 4000)
        check(said == (0, 0), f"the two close() said {said}")
        check(read(stack)[-64:] == other[-64:],
              f"round {i}: an expert has put back another stack than was copied")


def main():
    what, *rest = sys.argv[1:]
    calls = {"aside": aside, "removed": removed, "moved": moved, "made": made,
             "experts": experts}
    calls[what](*(int(text) if text.isdigit() else text for text in rest))


main()

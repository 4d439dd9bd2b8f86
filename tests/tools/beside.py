#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""beside.py - calls that meet: what close(), rename() and unlink() have said at the same time has
to be true together.

    beside.py aside MOUNT DONOR ROUNDS    a slot or key goes under a private name as it is filled
    beside.py removed MOUNT DONOR          a slot is removed that its creator has open
    beside.py experts MOUNT ROUNDS        one expert is put as the whole stack is

DONOR is a model in a mount of its own whose organs fit."""
import os
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
    """What both return, the second after so many seconds."""
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
                  f"round {i}: what was written to {slot} and closed is nowhere")
            os.unlink(private)
            write(slot, one)


def removed(mount, donor):
    """A slot that its creator has open, and has filled, is removed."""
    slot = f"{mount}/organs/blk_2_ffn_up.bin"
    data = read(f"{donor}/organs/blk_2_ffn_up.bin")
    os.unlink(slot)
    fd = os.open(slot, os.O_RDWR | os.O_CREAT | os.O_EXCL)
    os.write(fd, data)
    os.close(os.dup(fd))
    check(read(slot) == data, "the slot is not filled")
    os.unlink(slot)
    check(not os.path.exists(slot), "the slot is there though it was removed")
    os.pwrite(fd, b"x", 0)
    os.close(fd)
    check(not os.path.exists(slot), "the slot came back")


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
    calls = {"aside": aside, "removed": removed, "experts": experts}
    calls[what](*(int(text) if text.isdigit() else text for text in rest))


main()

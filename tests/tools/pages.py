#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""pages.py - pages of a file in the page cache.

    pages.py drop FILE               drop the pages that can be dropped
    pages.py touch FILE FIRST N      read N pages from FIRST on, without read-ahead
    pages.py count FILE [FIRST N]    count the cached pages, of the file or of N from FIRST on
"""
import ctypes
import mmap
import os
import sys


def count(fd, first, n):
    libc = ctypes.CDLL(None, use_errno=True)
    libc.mmap.restype = ctypes.c_void_p
    libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t] + 3 * [ctypes.c_int] + [ctypes.c_long]
    libc.mincore.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p]
    page = mmap.PAGESIZE
    resident = (ctypes.c_ubyte * n)()
    at = libc.mmap(None, n * page, mmap.PROT_READ, mmap.MAP_SHARED, fd, first * page)
    if libc.mincore(at, n * page, resident) < 0:
        raise OSError(ctypes.get_errno(), "mincore")
    return sum(value & 1 for value in resident)


def main():
    what, path = sys.argv[1:3]
    fd = os.open(path, os.O_RDONLY)
    pages = -(-os.fstat(fd).st_size // mmap.PAGESIZE)
    first, n = map(int, sys.argv[3:5]) if len(sys.argv) > 4 else (0, pages)
    if what == "drop":
        os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
    elif what == "touch":
        os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_RANDOM)
        for i in range(first, first + n):
            os.pread(fd, 1, i * mmap.PAGESIZE)
    else:
        print(count(fd, first, n))


main()

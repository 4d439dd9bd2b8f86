/* SPDX-License-Identifier: MIT */
/* resident.h - which pages of a file are in memory. */
#ifndef TESTS_UNIT_RESIDENT_H
#define TESTS_UNIT_RESIDENT_H

#include "tests/unit/temp_dir.h"

/* Byte i of a file of write_pages(). */
#define PAGES_BYTE(i) ((uint8_t)((i) / 4096 * 7 + (i) % 251))

/* Write a file of so many bytes, none of which is in memory afterwards. Skips the test where it
 * cannot be on a disk of this machine whose pages can be dropped, or pages are not of 4096 bytes:
 * before that the test may have made nothing. */
void write_pages(const char *path, size_t n);

/* Drop the file's pages from memory. */
void forget_pages(const char *path);

/* Bring pages into memory, and no others. */
void touch_pages(const char *path, uint64_t first, uint64_t n);

/* How many of n pages from first on are there. */
size_t resident_pages(const char *path, uint64_t first, uint64_t n);

/* The same of the whole file. */
size_t resident_in(const char *path);

/* Until so many are there, which the disk was asked for. */
void await_pages(const char *path, size_t n);

#endif

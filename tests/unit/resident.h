/* SPDX-License-Identifier: MIT */
/* resident.h - pages of a file in the page cache. */
#ifndef TESTS_UNIT_RESIDENT_H
#define TESTS_UNIT_RESIDENT_H

#include "tests/unit/temp_dir.h"

/* Byte i of a file by write_pages(). */
#define PAGES_BYTE(i) ((uint8_t)((i) / 4096 * 7 + (i) % 251))

/* Write a file of n bytes, none of which is cached afterwards. Skips the test if the file is not
 * on a local disk whose pages can be dropped, or if pages do not have 4096 bytes; before that the
 * test must have made nothing. */
void write_pages(const char *path, size_t n);

/* Drop the file's pages from the cache. */
void forget_pages(const char *path);

/* Read exactly these pages into the cache. */
void touch_pages(const char *path, uint64_t first, uint64_t n);

/* Number of cached pages among n pages from first on. */
size_t resident_pages(const char *path, uint64_t first, uint64_t n);

/* Number of cached pages of the whole file. */
size_t resident_in(const char *path);

/* Wait until n pages are cached, whose read has begun. */
void await_pages(const char *path, size_t n);

#endif

/* SPDX-License-Identifier: MIT */
/* zstd_file.h - files of frames in a test's directory. */
#ifndef TESTS_UNIT_ZSTD_FILE_H
#define TESTS_UNIT_ZSTD_FILE_H

#include "fs/storage/zstd_seekable.h"
#include "tests/unit/temp_dir.h"

/* Bytes with these bits at random: with all of them they do not shrink. */
uint8_t *mk_random(size_t n, uint64_t seed, uint8_t bits);

/* Bytes that shrink to about half, and differ by seed. */
uint8_t *mk_shrinking(size_t n, uint64_t seed);

/* Write those n bytes as a file of frames of that name. */
void save_frames(void **state, const char *name, const uint8_t *bytes, size_t n, int level);

#endif

/* SPDX-License-Identifier: MIT */
/* zstd_file.h - files of frames in a test's directory. */
#ifndef TESTS_UNIT_ZSTD_FILE_H
#define TESTS_UNIT_ZSTD_FILE_H

#include "fs/storage/zstd_seekable.h"
#include "tests/unit/temp_dir.h"

/* Random values of these bits: with all eight they do not compress. */
uint8_t *mk_random(size_t n, uint64_t seed, uint8_t bits);

/* Bytes that compress to about half, and depend on seed. */
uint8_t *mk_shrinking(size_t n, uint64_t seed);

/* Write n bytes as a file of frames of that name. */
void save_frames(void **state, const char *name, const uint8_t *bytes, size_t n, int level);

#endif

/* SPDX-License-Identifier: MIT */
/* small_gguf.h - a small model, organ files, and whole reads of views. */
#ifndef TESTS_UNIT_SMALL_GGUF_H
#define TESTS_UNIT_SMALL_GGUF_H

#include "fs/storage/view.h"
#include "gguf/organ.h"
#include "gguf/types.h"
#include "tests/unit/temp_dir.h"

/* All bytes of a view; caller frees. */
char *read_view(struct view *view);

/* Tensors of mk_small()'s model, in file order. */
enum { SMALL_EMBED, SMALL_Q, SMALL_UP, SMALL_GATE, SMALL_NORM, SMALL_DOWN, SMALL_TENSORS };

static const uint64_t small_ne[2] = { 8, 4 }, small_row[1] = { 8 }, small_blocks[2] = { 32, 2 };

/* SMALL_UP and SMALL_GATE have one shape and type, 128 bytes; SMALL_DOWN is quantised. */
struct mk_file mk_small(void);

/* Save a file under that name in the test's directory. */
void save(void **state, const char *name, const struct mk_file *file);

void save_small(void **state, const char *name);

/* An organ file in memory. */
struct organ_file {
	uint8_t *bytes;
	size_t size, data_at;
};

/* Make an organ file for that type and shape; its data are mk_byte(seed, ...). */
struct organ_file mk_organ(const char *name, uint32_t type, uint32_t dims, const uint64_t *ne,
			   uint32_t seed);

#endif

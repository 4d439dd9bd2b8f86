/* SPDX-License-Identifier: MIT */
/* tensor_file.h - a tensor in a file, at an odd offset and with bytes behind it, for tests of
 * computed values. */
#ifndef TESTS_UNIT_TENSOR_FILE_H
#define TESTS_UNIT_TENSOR_FILE_H

#include "fs/model/organ_file.h"
#include "gguf/dequant.h"
#include "gguf/types.h"
#include "tests/unit/small_gguf.h"

#define TENSOR_AT    1237
#define TENSOR_AFTER 41

struct tensor_file {
	uint8_t *bytes; /* of the tensor */
	float *values;	/* NULL for a type without a decoder */
	uint64_t elements;
	struct organ_location located;
};

/* bytes NULL: those of fill_tensor(). */
struct tensor_file new_tensor(void **state, const char *name, uint32_t type, uint32_t dims,
			      const uint64_t *ne, const void *bytes);

void free_tensor(struct tensor_file *t);

/* Check reads of all lengths and offsets against the whole. */
void assert_any_range(struct view *view, const char *whole);

#endif

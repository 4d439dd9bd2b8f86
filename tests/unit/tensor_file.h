/* SPDX-License-Identifier: MIT */
/* tensor_file.h - a tensor in a file, at an odd offset and with something after it, for tests
 * of computed values. */
#ifndef TESTS_UNIT_TENSOR_FILE_H
#define TESTS_UNIT_TENSOR_FILE_H

#include "fs/model/organ_file.h"
#include "gguf/dequant.h"
#include "gguf/types.h"
#include "tests/unit/small_gguf.h"

#define TENSOR_AT    1237
#define TENSOR_AFTER 41

struct tensor_file {
	uint8_t *bytes; /* the tensor's */
	float *values;	/* NULL: its type has none */
	uint64_t elements;
	struct organ_location located;
};

/* bytes NULL: such as above. */
struct tensor_file new_tensor(void **state, const char *name, uint32_t type, uint32_t dims,
			      const uint64_t *ne, const void *bytes);

void free_tensor(struct tensor_file *t);

/* Reads of all lengths and places give the bytes that the whole has. */
void assert_any_range(struct view *view, const char *whole);

#endif

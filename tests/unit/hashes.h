/* SPDX-License-Identifier: MIT */
/* hashes.h - helpers of all tests of hashes. */
#ifndef TESTS_UNIT_HASHES_H
#define TESTS_UNIT_HASHES_H

#include "fs/lazy/tensor_hashes.h"
#include "tests/unit/measures.h"

struct tensor_hashes *new_digests(struct model *model);

/* Hash of a slot's content, computed over all its bytes at once. */
void digest_of_slot(struct model *model, enum hash_kind kind, uint32_t tensor,
		    char text[XXH128_TEXT]);

/* Add a slot organs/NAME for a tensor of that name, with the content of a tensor of the base. */
void add_slot(struct model *model, const char *name, const char *tensor, uint32_t of);

void close_hashed(struct opened *o, struct tensor_hashes *hashes, struct view *view);

/* Check that a failed allocation gives no view, and leaks nothing. */
void assert_needs_memory(void **state,
			 struct view *make(struct model *model, struct tensor_hashes *hashes,
					   const struct snapshot *snapshot));

#endif

/* SPDX-License-Identifier: MIT */
/* merge_plan_names.c - see merge_plan_internal.h: the place of a tensor, by its name. */
#include "fs/merge/merge_plan_internal.h"
#include "gguf/anatomy.h"
#include "gguf/reader.h"
#include "gguf/types.h"

#include <stdio.h>
#include <string.h>

size_t plan_block_prefix(const struct gguf_tensor *tensor, uint64_t *block)
{
	const int32_t number = anatomy_block(tensor->name, tensor->name_length);
	const char *point;

	/* Only blocks of the text model itself, not enc.blk.N or v.blk.N. */
	if (number < 0 || (uint64_t)number >= PLAN_BLOCKS_MAX ||
	    strncmp(tensor->name, "blk.", 4) != 0)
		return 0;
	*block = (uint64_t)number;
	point = memchr(tensor->name + 4, '.', tensor->name_length - 4);
	return point ? (size_t)(point + 1 - tensor->name) : 0;
}

uint32_t plan_name_in_block(const struct planner *planner, const char *name, uint32_t length,
			    size_t prefix, uint64_t block)
{
	const size_t rest = length - prefix;
	const size_t n =
		(size_t)snprintf(planner->scratch, PLAN_NAME_MAX, "blk.%" PRIu64 ".", block);

	if (n + rest > PLAN_NAME_MAX)
		return 0;
	memcpy(planner->scratch + n, name + prefix, rest);
	planner->scratch[n + rest] = '\0';
	return (uint32_t)(n + rest);
}

static bool begins_with(const struct gguf_tensor *tensor, const char *start)
{
	const size_t n = strlen(start);

	return tensor->name_length >= n && memcmp(tensor->name, start, n) == 0;
}

/* Names from gguf/tensor_classes.tsv: norms of the output, heads, classifiers. */
enum merge_outside plan_outside_of(const struct gguf_tensor *tensor)
{
	static const char *const starts[] = { "output",	    "cls",	    "dec.output",
					      "enc.output", "altup_unembd", "dense_" };

	for (size_t i = 0; i < sizeof(starts) / sizeof(starts[0]); i++)
		if (begins_with(tensor, starts[i]))
			return MERGE_BEHIND_BLOCKS;
	return MERGE_BEFORE_BLOCKS;
}

/* rope factors may also stand in every block. */
static bool holds_rope_factors(const struct gguf_tensor *tensor)
{
	static const char *const ends[] = { "rope_freqs.weight", "rope_factors_long.weight",
					    "rope_factors_short.weight" };

	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
		const size_t n = strlen(ends[i]);

		if (tensor->name_length >= n &&
		    memcmp(tensor->name + tensor->name_length - n, ends[i], n) == 0)
			return true;
	}
	return false;
}

bool plan_is_weight(const struct gguf_tensor *tensor)
{
	uint64_t elements;

	return !(tensor->type >= GGML_I8 && tensor->type <= GGML_I64) &&
	       shape_elements(tensor->ne, &elements) && elements > 0 && !holds_rope_factors(tensor);
}

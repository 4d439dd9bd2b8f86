/* SPDX-License-Identifier: MIT */
/* expert_slice.c - see expert_slice.h. */
#include "fs/tensor/expert_slice.h"
#include "fs/storage/view.h"
#include "gguf/anatomy.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

uint32_t expert_slice_count(const struct organ *organ)
{
	struct organ slice;

	if (!anatomy_by_expert(organ->name, organ->name_length) || !organ_slice(organ, &slice) ||
	    organ->ne[organ->dims - 1] > EXPERT_SLICE_EXPERTS_MAX)
		return 0;
	return (uint32_t)organ->ne[organ->dims - 1];
}

struct organ_location expert_slice(const struct organ_location *stack, uint32_t expert)
{
	struct organ_location slice = *stack;

	organ_slice(&stack->organ, &slice.organ);
	slice.offset += expert * slice.organ.data_size;
	return slice;
}

void expert_slice_name(uint32_t expert, uint32_t n, char name[EXPERT_SLICE_NAME_MAX])
{
	const int digits = n > 10000 ? 5 : n > 1000 ? 4 : 3;

	snprintf(name, EXPERT_SLICE_NAME_MAX, "%0*u", digits, (unsigned)(uint16_t)expert);
}

bool expert_slice_find(const char *name, size_t length, uint32_t n, uint32_t *expert)
{
	char exact[EXPERT_SLICE_NAME_MAX];

	*expert = 0;
	if (length >= EXPERT_SLICE_NAME_MAX)
		return false;
	for (size_t i = 0; i < length; i++) {
		if (name[i] < '0' || name[i] > '9')
			return false;
		*expert = *expert * 10 + (uint32_t)(name[i] - '0');
	}
	if (*expert >= n)
		return false;
	expert_slice_name(*expert, n, exact);
	return strlen(exact) == length && memcmp(exact, name, length) == 0;
}

uint64_t expert_slice_order_size(uint32_t n)
{
	/* Each number has a digit and a separator, and a digit more per power of ten reached. */
	uint64_t size = 2 * (uint64_t)n;

	for (uint64_t power = 10; power < n; power *= 10)
		size += n - power;
	return size;
}

struct view *expert_slice_order(uint32_t n)
{
	const size_t size = (size_t)expert_slice_order_size(n);
	char *text = malloc(size + 1);
	size_t at = 0;

	if (!text)
		return NULL;
	for (uint32_t i = 0; i < n; i++)
		at += (size_t)snprintf(text + at, size + 1 - at, "%u%c", (unsigned)i,
				       i + 1 < n ? ' ' : '\n');
	return view_of_text(text, size);
}

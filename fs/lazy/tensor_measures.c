/* SPDX-License-Identifier: MIT */
/* tensor_measures.c - see tensor_measures.h. */
#include "fs/lazy/tensor_measures.h"
#include "fs/lazy/memo.h"
#include "fs/model/organ_file.h"
#include "fs/model/slots.h"
#include "fs/tensor/sampling.h"
#include "gguf/types.h"

#include <errno.h>
#include <stddef.h>

static bool is_wanted(void *context)
{
	const struct memo_state *once = context;

	return !atomic_load_explicit(&once->unwanted, memory_order_relaxed);
}

static struct memo_state *place(struct content *content, uint64_t samples)
{
	(void)samples;
	return &content->measure.once;
}

static int measure(struct model *model, uint64_t samples, const struct subject *subject,
		   struct memo_state *once)
{
	const struct organ_location at =
		organ_file_locate(model, subject->tensor, subject->content);
	struct sampling sampling = {
		.samples = samples, .wanted = is_wanted, .context = once, .stop = &once->unwanted
	};

	/* Another tensor has some of the bytes that the type needs. */
	if (type_is_short(at.organ.type)) {
		((struct measure_result *)once)->result = zmeasure_unknown(ZMEASURE_SHORT);
		return 0;
	}
	/* The tensor of a missing shard cannot be measured any more. */
	if (!sampling_locate(&sampling, &at))
		return -ENOTSUP;
	return sampling_measure(&sampling, &((struct measure_result *)once)->result);
}

struct memo *tensor_measures_new(struct model *model, uint64_t samples, struct pool *pool)
{
	static const struct memo_ops ops = { .size = sizeof(struct measure_result),
					     .place = place,
					     .compute = measure };

	return memo_new(&ops, model, samples, pool);
}

_Static_assert(offsetof(struct measure_result, result) == sizeof(struct memo_state),
	       "the value follows");

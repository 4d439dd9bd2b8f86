/* SPDX-License-Identifier: MIT */
/* tensor_measures.c - see tensor_measures.h. */
#include "fs/lazy/tensor_measures.h"
#include "fs/tensor/sampling.h"

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
	return &content->reading.once;
}

static int measure(struct model *model, uint64_t samples, const struct subject *subject,
		   struct memo_state *once)
{
	const struct content *content = subject->content;
	const struct organ organ = model_organ(model, subject->tensor, content);
	uint64_t offset = content ? content->offset : model->gguf->tensors[subject->tensor].offset;
	uint64_t length = organ.data_size;
	struct backing *whole = content ? content->file : model->base;
	struct backing *file =
		backing_is_computed(whole) ? whole : backing_file_at(whole, &offset, &length);
	struct sampling sampling = {
		.file = file,
		.offset = offset,
		.type = organ.type,
		.samples = samples,
		.wanted = is_wanted,
		.context = once,
	};

	/* Of a shard that is gone, what was not measured in time is not known. */
	if (!file || backing_is_revoked(file))
		return -ENOTSUP;
	shape_elements(organ.ne, &sampling.elements);
	return sampling_measure(&sampling, &((struct measure_result *)once)->result);
}

struct memo *tensor_measures_new(struct model *model, uint64_t samples, struct pool *pool)
{
	static const struct memo_ops ops = { sizeof(struct measure_result), place, measure };

	return memo_new(&ops, model, samples, pool);
}

_Static_assert(offsetof(struct measure_result, result) == sizeof(struct memo_state),
	       "the value follows");

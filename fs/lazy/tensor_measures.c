/* SPDX-License-Identifier: MIT */
/* tensor_measures.c - see tensor_measures.h. */
#include "fs/lazy/tensor_measures.h"
#include "fs/tensor/sampling.h"

#include <errno.h>
#include <stdlib.h>

struct tensor_measures {
	struct model *model;
	uint64_t samples;
	struct memo *memo;
	struct measure_result base[]; /* one a tensor */
};

static bool is_wanted(void *context)
{
	const struct memo_state *once = context;

	return !atomic_load_explicit(&once->unwanted, memory_order_relaxed);
}

static struct measure_result *measure_result_of(struct tensor_measures *measures,
						const struct subject *subject)
{
	return subject->content ? &subject->content->reading : &measures->base[subject->tensor];
}

static struct memo_state *place(void *context, const struct subject *subject)
{
	return &measure_result_of(context, subject)->once;
}

static int measure(void *context, const struct subject *subject, struct memo_state *once)
{
	struct tensor_measures *measures = context;
	const struct model *model = measures->model;
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
		.samples = measures->samples,
		.wanted = is_wanted,
		.context = once,
	};

	/* Of a shard that is gone, what was not measured in time is not known. */
	if (!file || backing_is_revoked(file))
		return -ENOTSUP;
	shape_elements(organ.ne, &sampling.elements);
	return sampling_measure(&sampling, &measure_result_of(measures, subject)->result);
}

struct tensor_measures *tensor_measures_new(struct model *model, uint64_t samples,
					    struct pool *pool)
{
	const size_t n = model->gguf->n_tensors;
	/* Zeros are measures that nobody has asked for: no page of it is touched before. */
	struct tensor_measures *measures =
		calloc(1, sizeof(*measures) + n * sizeof(measures->base[0]));
	const struct memo_ops kind = { place, measure, measures };

	if (!measures)
		return NULL;
	measures->model = model;
	measures->samples = samples;
	measures->memo = memo_new(&kind, pool);
	if (measures->memo)
		return measures;
	free(measures);
	return NULL;
}

void tensor_measures_stop(struct tensor_measures *measures)
{
	memo_stop(measures->memo);
}

void tensor_measures_free(struct tensor_measures *measures)
{
	if (!measures)
		return;
	memo_free(measures->memo);
	free(measures);
}

int tensor_measures_prepare(struct tensor_measures *measures, const struct subject *subjects,
			    size_t n, const atomic_bool *stop)
{
	return memo_prepare(measures->memo, subjects, n, stop);
}

int tensor_measures_get(struct tensor_measures *measures, const struct subject *subject,
			const atomic_bool *stop, struct zmeasure *result)
{
	const int rc = memo_get(measures->memo, subject, stop);

	if (rc == 0)
		*result = measure_result_of(measures, subject)->result;
	return rc;
}

void tensor_measures_inherit(struct tensor_measures *measures, struct tensor_measures *old)
{
	for (uint32_t i = 0; i < measures->model->gguf->n_tensors; i++) {
		const struct measure_result *known;
		uint32_t was;

		if (!model_shares_tensor(measures->model, i, old->model, &was))
			continue;
		known = &old->base[was];
		if (memo_inherit(measures->memo, &measures->base[i].once, old->memo, &known->once))
			measures->base[i].result = known->result;
	}
}

uint64_t tensor_measures_count(struct tensor_measures *measures)
{
	return memo_count(measures->memo);
}

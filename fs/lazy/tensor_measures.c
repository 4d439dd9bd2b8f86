/* SPDX-License-Identifier: MIT */
/* readings.c - see readings.h. */
#include "fs/lazy/tensor_measures.h"
#include "fs/tensor/sampling.h"

#include <errno.h>
#include <stdlib.h>

struct readings {
	struct model *model;
	uint64_t samples;
	struct onces *onces;
	struct reading base[]; /* one a tensor */
};

static bool is_wanted(void *context)
{
	const struct once *once = context;

	return !atomic_load_explicit(&once->unwanted, memory_order_relaxed);
}

static struct reading *reading_of(struct readings *readings, const struct subject *subject)
{
	return subject->content ? &subject->content->reading : &readings->base[subject->tensor];
}

static struct once *place(void *context, const struct subject *subject)
{
	return &reading_of(context, subject)->once;
}

static int measure(void *context, const struct subject *subject, struct once *once)
{
	struct readings *readings = context;
	const struct model *model = readings->model;
	const struct content *content = subject->content;
	const struct organ organ = model_organ(model, subject->tensor, content);
	uint64_t offset = content ? content->offset : model->gguf->tensors[subject->tensor].offset;
	uint64_t length = organ.data_size;
	struct backing *whole = content ? content->file : model->base;
	struct backing *file =
		backing_is_made(whole) ? whole : backing_part(whole, &offset, &length);
	struct sampling sampling = {
		.file = file,
		.offset = offset,
		.type = organ.type,
		.samples = readings->samples,
		.wanted = is_wanted,
		.context = once,
	};

	/* Of a shard that is gone, what was not measured in time is not known. */
	if (!file || backing_has_ended(file))
		return -ENOTSUP;
	shape_elements(organ.ne, &sampling.elements);
	return sampling_measure(&sampling, &reading_of(readings, subject)->result);
}

struct readings *readings_new(struct model *model, uint64_t samples, struct pool *pool)
{
	const size_t n = model->gguf->n_tensors;
	/* Zeros are readings that nobody has asked for: no page of it is touched before. */
	struct readings *readings = calloc(1, sizeof(*readings) + n * sizeof(readings->base[0]));
	const struct once_kind kind = { place, measure, readings };

	if (!readings)
		return NULL;
	readings->model = model;
	readings->samples = samples;
	readings->onces = onces_new(&kind, pool);
	if (readings->onces)
		return readings;
	free(readings);
	return NULL;
}

void readings_stop(struct readings *readings)
{
	onces_stop(readings->onces);
}

void readings_free(struct readings *readings)
{
	if (!readings)
		return;
	onces_free(readings->onces);
	free(readings);
}

int readings_prepare(struct readings *readings, const struct subject *subjects, size_t n,
		     const atomic_bool *stop)
{
	return onces_prepare(readings->onces, subjects, n, stop);
}

int readings_get(struct readings *readings, const struct subject *subject, const atomic_bool *stop,
		 struct zmeasure *result)
{
	const int rc = onces_get(readings->onces, subject, stop);

	if (rc == 0)
		*result = reading_of(readings, subject)->result;
	return rc;
}

void readings_inherit(struct readings *readings, struct readings *old)
{
	for (uint32_t i = 0; i < readings->model->gguf->n_tensors; i++) {
		const struct reading *known;
		uint32_t was;

		if (!model_has_of(readings->model, i, old->model, &was))
			continue;
		known = &old->base[was];
		if (onces_inherit(readings->onces, &readings->base[i].once, old->onces,
				  &known->once))
			readings->base[i].result = known->result;
	}
}

uint64_t readings_count(struct readings *readings)
{
	return onces_count(readings->onces);
}

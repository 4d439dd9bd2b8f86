/* SPDX-License-Identifier: MIT */
/* tensor_measures.h - the Z-measure of every organ, made when somebody asks for it and kept as long
 * as the content is there. */
#ifndef FS_LAZY_TENSOR_MEASURES_H
#define FS_LAZY_TENSOR_MEASURES_H

#include "fs/lazy/memo.h"
#include "fs/model/model.h"

struct tensor_measures; /* any thread may use it */

/* For a model, measured by the threads of pool, both of which outlive it, or where pool is NULL by
 * threads of its own; samples as in sampling.h. NULL: out of memory. */
struct tensor_measures *tensor_measures_new(struct model *model, uint64_t samples,
					    struct pool *pool);

/* What is known of tensors that have the same bytes in the base that was there before is known from
 * now on. Before anybody else knows measures. */
void tensor_measures_inherit(struct tensor_measures *measures, struct tensor_measures *old);

/* Whoever waits gets -EINTR, now and later. */
void tensor_measures_stop(struct tensor_measures *measures);
void tensor_measures_free(struct tensor_measures *measures); /* nobody may wait any more */

/* Wait until all n subjects are measured, several at a time, or *stop, which may be NULL, is true.
 * The contents are borrowed. Returns 0, or -EINTR, or the error of one of them as
 * sampling_measure() gives it, but not -ENOTSUP. */
int tensor_measures_prepare(struct tensor_measures *measures, const struct subject *subjects,
			    size_t n, const atomic_bool *stop);

/* Measure one and copy the result. -ENOTSUP: its type holds no values. */
int tensor_measures_get(struct tensor_measures *measures, const struct subject *subject,
			const atomic_bool *stop, struct zmeasure *result);

/* How many organs were measured, or tried to, since the mount. */
uint64_t tensor_measures_count(struct tensor_measures *measures);

#endif

/* SPDX-License-Identifier: MIT */
/* merge_passes.c - see merge_passes.h. */
#include "fs/merge/merge_passes.h"
#include "fs/merge/merge_rows.h"
#include "fs/merge/merge_tensor.h"
#include "fs/storage/backing.h"
#include "fs/tensor/organ_views.h"
#include "fs/tensor/tensor_difference.h"
#include "fs/util/cond_poll.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Bytes compared at a time. */
#define CHUNK ((size_t)1 << 18)

/* Tolerance for sums of weights: so near to 1, the result rounds to the same float as with 1; so
 * near to 0, the sum may be 0. */
#define NEAR_1 0x1p-30
#define NEAR_0 1e-6

void merge_passes_init(struct merge_passes *passes, const struct merge_tensor *tensor)
{
	memset(passes, 0, sizeof(*passes));
	passes->tensor = tensor;
	pthread_mutex_init(&passes->lock, NULL);
	cond_poll_init(&passes->idle);
}

void merge_passes_release(struct merge_passes *passes)
{
	pthread_mutex_destroy(&passes->lock);
	pthread_cond_destroy(&passes->idle);
	free(passes->scratch);
}

static bool is_stopped(const atomic_bool *stop)
{
	return stop && atomic_load(stop);
}

/* Largest tol of karcher and eps of multislerp that only prevent a division by zero, so that they
 * change next to nothing. */
#define NEXT_TO_NOTHING 1e-5

/* Does the rule merge equal tensors to the same tensor, except for rounding? An arc between equal
 * vectors is a point, and tensors equal to the base have no differences to merge. */
static bool keeps_equal(const struct merge_rule *rule)
{
	double sum = 0.0;

	if (rule->method == MERGE_PASSTHROUGH)
		return rule->n == 1 && rule->inputs[0].weight == 1.0;
	if (merge_uses_base(rule))
		return true;
	if (rule->method == MERGE_KARCHER)
		return rule->tol <= NEXT_TO_NOTHING;
	if (rule->method == MERGE_MULTISLERP && rule->eps > NEXT_TO_NOTHING)
		return false;
	if (rule->method != MERGE_LINEAR && rule->method != MERGE_MULTISLERP)
		return true;
	for (unsigned i = 0; i < rule->n; i++)
		sum += rule->inputs[i].weight;
	return rule->normalize ? fabs(sum) > NEAR_0 : fabs(sum - 1.0) < NEAR_1;
}

const struct merge_data *merge_passes_first(const struct merge_tensor *tensor)
{
	return merge_uses_base(&tensor->rule) ? &tensor->base : &tensor->inputs[0];
}

static struct organ_location location_of(const struct merge_tensor *tensor,
					 const struct merge_data *data, uint64_t size)
{
	struct organ_location at = { .file = data->file, .offset = data->offset };

	memcpy(at.organ.ne, tensor->ne, sizeof(at.organ.ne));
	at.organ.type = data->type;
	at.organ.data_size = size;
	return at;
}

/* List the inputs whose bytes have to be read to tell whether they equal the first tensor's.
 * Returns false if the result cannot have the bytes of an input anyway. */
static bool find_others(const struct merge_tensor *tensor, uint64_t size,
			const struct merge_data **others, unsigned *n)
{
	const struct merge_data *of = merge_passes_first(tensor);
	const struct organ_location first = location_of(tensor, of, size);

	*n = 0;
	if (!keeps_equal(&tensor->rule) || of->type != tensor->type)
		return false;
	for (unsigned i = 0; i < tensor->rule.n; i++) {
		const struct merge_data *input = &tensor->inputs[i];
		const struct organ_location other = location_of(tensor, input, size);

		if (input->type != tensor->type)
			return false;
		if (input != of && !tensor_difference_is_none(&first, &other))
			others[(*n)++] = input;
	}
	return true;
}

/* Compare the next n bytes of all tensors; two has room for 2 * n bytes. Returns 1 if all are
 * equal, 0 if not, or -errno. */
static int compare_some(const struct merge_passes *passes, const struct merge_data *const *others,
			unsigned n_others, size_t n, uint8_t *two, const atomic_bool *stop)
{
	const struct merge_data *of = merge_passes_first(passes->tensor);
	int rc = backing_read_cancellable(of->file, 0, two, n, of->offset + passes->next, stop);
	bool same = true;

	for (unsigned i = 0; rc == 0 && same && i < n_others; i++) {
		rc = backing_read_cancellable(others[i]->file, 0, two + n, n,
					      others[i]->offset + passes->next, stop);
		same = rc == 0 && memcmp(two, two + n, n) == 0;
	}
	return rc < 0 ? rc : same;
}

/* Compare the tensors up to the first difference, and set compared and same, except on failure. */
static int compare(struct merge_passes *passes, const atomic_bool *stop)
{
	const struct merge_rule *rule = &passes->tensor->rule;
	const uint64_t size = rule->rows * merge_row_bytes(passes->tensor->type, rule->columns);
	const struct merge_data *others[MERGE_INPUTS_MAX];
	unsigned n_others;
	const bool maybe = find_others(passes->tensor, size, others, &n_others);
	uint8_t *two = maybe && n_others ? malloc(2 * CHUNK) : NULL;
	int rc = maybe; /* 1: equal so far */

	if (maybe && n_others && !two)
		rc = -ENOMEM;
	while (rc > 0 && n_others && passes->next < size) {
		const uint64_t left = size - passes->next;
		const size_t n = left < CHUNK ? (size_t)left : CHUNK;

		rc = is_stopped(stop) ? -EINTR
				      : compare_some(passes, others, n_others, n, two, stop);
		if (rc > 0)
			passes->next += n;
	}
	free(two);
	if (rc < 0)
		return rc;
	passes->same = rc;
	passes->compared = true;
	passes->next = 0;
	return 0;
}

/* Feed the remaining rows of a pass to the method. */
static int feed_rows(struct merge_passes *passes, struct merge_rows *rows, const atomic_bool *stop)
{
	const uint64_t all = passes->tensor->rule.rows;
	int rc = 0;

	while (rc == 0 && passes->next < all) {
		const uint64_t left = all - passes->next;
		const size_t n = left < rows->most ? (size_t)left : rows->most;

		rc = is_stopped(stop) ? -EINTR : merge_rows_read(rows, 0, passes->next, n, stop);
		if (rc < 0)
			break;
		merge_feed(&passes->merge, n, rows->base, (const float *const *)rows->inputs);
		passes->next += n;
	}
	return rc;
}

static int run_passes(struct merge_passes *passes, const atomic_bool *stop)
{
	struct merge_rows rows;
	int rc = merge_rows_init(&rows, passes->tensor, passes->tensor->rule.rows);

	while (rc == 0 && merge_needs_pass(&passes->merge)) {
		rc = feed_rows(passes, &rows, stop);
		if (rc == 0) {
			merge_end_pass(&passes->merge);
			passes->next = 0;
		}
	}
	merge_rows_release(&rows);
	return rc;
}

static int begin(struct merge_passes *passes)
{
	const struct merge_rule *rule = &passes->tensor->rule;

	passes->scratch = malloc(merge_scratch(rule) + 1);
	if (!passes->scratch)
		return -ENOMEM;
	merge_begin(&passes->merge, rule, passes->scratch);
	passes->begun = true;
	return 0;
}

/* Do the work of merge_passes_find(), in one thread at a time. */

static int find(struct merge_passes *passes, const atomic_bool *stop)
{
	int rc = passes->compared ? 0 : compare(passes, stop);

	if (rc < 0 || passes->same)
		return rc;
	if (!passes->begun)
		rc = begin(passes);
	if (rc == 0 && merge_needs_pass(&passes->merge))
		rc = run_passes(passes, stop);
	if (rc == 0 && merge_scratch_kept(&passes->tensor->rule) == 0) {
		free(passes->scratch);
		passes->scratch = NULL;
	}
	return rc;
}

int merge_passes_find(struct merge_passes *passes, const atomic_bool *stop)
{
	int rc = 0;

	if (atomic_load(&passes->found))
		return 0;
	pthread_mutex_lock(&passes->lock);
	while (rc == 0 && passes->busy) {
		if (is_stopped(stop))
			rc = -EINTR;
		else
			cond_poll_wait(&passes->idle, &passes->lock);
	}
	if (rc == 0 && !atomic_load(&passes->found)) {
		passes->busy = true;
		pthread_mutex_unlock(&passes->lock);
		rc = find(passes, stop);
		pthread_mutex_lock(&passes->lock);
		passes->busy = false;
		if (rc == 0)
			atomic_store(&passes->found, true);
		pthread_cond_broadcast(&passes->idle);
	}
	pthread_mutex_unlock(&passes->lock);
	return rc;
}

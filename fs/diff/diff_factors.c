/* SPDX-License-Identifier: MIT */
/* diff_factors.c - see diff_factors.h. */
#include "fs/diff/diff_factors.h"
#include "fs/diff/diff.h"
#include "fs/diff/diff_side.h"
#include "fs/tensor/tensor_factors.h"
#include "fs/util/cond_poll.h"
#include "fs/util/halt.h"
#include "fs/util/parallel.h"
#include "gguf/pair.h"
#include "measure/low_rank.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct kept_factor {
	struct diff_factor factor; /* immutable once found */
	struct kept_factor *next;
	struct diff_matrix matrix;
	unsigned readers;
	bool found; /* else a thread computes it */
};

struct diff_factors {
	atomic_uint refs;
	struct diff *diff;
	size_t room;
	pthread_mutex_t lock;	  /* protects the list and its members, except found factors */
	pthread_cond_t changed;	  /* a computation has ended */
	struct kept_factor *list; /* most recently used first */
};

struct diff_factors *diff_factors_new(struct diff *diff, size_t room)
{
	struct diff_factors *factors = calloc(1, sizeof(*factors));

	if (!factors)
		return NULL;
	atomic_init(&factors->refs, 1);
	factors->diff = diff_ref(diff);
	factors->room = room;
	pthread_mutex_init(&factors->lock, NULL);
	cond_poll_init(&factors->changed);
	return factors;
}

struct diff_factors *diff_factors_ref(struct diff_factors *factors)
{
	atomic_fetch_add(&factors->refs, 1);
	return factors;
}

static void free_factor(struct kept_factor *kept)
{
	free(kept->factor.halves[0]);
	free(kept->factor.halves[1]);
	free(kept->factor.squares);
	free(kept);
}

void diff_factors_unref(struct diff_factors *factors)
{
	if (!factors || atomic_fetch_sub(&factors->refs, 1) != 1)
		return;
	while (factors->list) {
		struct kept_factor *kept = factors->list;

		factors->list = kept->next;
		free_factor(kept);
	}
	pthread_cond_destroy(&factors->changed);
	pthread_mutex_destroy(&factors->lock);
	diff_unref(factors->diff);
	free(factors);
}

struct diff *diff_factors_diff(struct diff_factors *factors)
{
	return factors->diff;
}

size_t diff_factors_room(const struct diff_factors *factors)
{
	return factors->room;
}

/* The link to that entry, or to the list's end. Call with the lock held. */
static struct kept_factor **find_kept(struct diff_factors *factors,
				      const struct diff_matrix *matrix)
{
	struct kept_factor **link = &factors->list;

	while (*link &&
	       ((*link)->matrix.pair != matrix->pair || (*link)->matrix.slice != matrix->slice ||
		(*link)->matrix.rank != matrix->rank))
		link = &(*link)->next;
	return link;
}

/* Size of a found entry, including malloc()'s overhead. */
static size_t size_of(const struct kept_factor *kept)
{
	return kept->factor.sizes[0] + kept->factor.sizes[1] + kept->matrix.rank * sizeof(double) +
	       sizeof(*kept) + 4 * 2 * sizeof(void *);
}

/* Evict the least recently used entries until the rest fits, except the newest one and those that
 * readers hold. Call with the lock held. */
static void forget(struct diff_factors *factors)
{
	struct kept_factor **link = &factors->list;
	size_t kept = 0;

	while (*link) {
		struct kept_factor *factor = *link;
		const size_t size = factor->readers ? 0 : size_of(factor);

		if (size && kept && (kept > factors->room || size > factors->room - kept)) {
			*link = factor->next;
			free_factor(factor);
			continue;
		}
		kept += size;
		link = &factor->next;
	}
}

/* Transpose a matrix. NULL: out of memory. */
static float *transposed(const float *values, size_t rows, size_t columns)
{
	float *turned = malloc(rows * columns * sizeof(*turned) + 1);

	for (size_t i = 0; turned && i < rows; i++)
		for (size_t j = 0; j < columns; j++)
			turned[j * rows + i] = values[i * columns + j];
	return turned;
}

/* Move the result from low to the entry. Returns 0 or -ENOMEM. */
static int take(struct kept_factor *kept, const struct organ *organ, struct low_rank *low)
{
	const bool flipped = pair_is_flipped(organ->name, organ->name_length);
	struct diff_factor *factor = &kept->factor;
	const size_t columns = (size_t)organ->ne[0], rows = (size_t)organ->ne[1];
	float *turned = flipped ? transposed(low->a, low->rank, columns) : NULL;

	if (flipped && !turned)
		return -ENOMEM;
	factor->halves[flipped] = flipped ? turned : low->a;
	factor->halves[!flipped] = low->b;
	factor->sizes[flipped] = low->rank * columns * sizeof(float);
	factor->sizes[!flipped] = low->rank * rows * sizeof(float);
	factor->squares = low->squares;
	factor->energy = low->energy;
	factor->nonfinite = low->nonfinite;
	if (!flipped)
		low->a = NULL;
	low->b = NULL;
	low->squares = NULL;
	return 0;
}

static int find(struct diff_factors *factors, struct kept_factor *kept, const struct halt *halt)
{
	const struct diff_pair *pair = &factors->diff->pairs[kept->matrix.pair];
	const struct organ *organ = &pair->here->at.organ;
	const struct tensor_factors of = { .here = &pair->here->at,
					   .there = &pair->there->at,
					   .first = kept->matrix.slice * organ->ne[1],
					   .rows = organ->ne[1],
					   .rank = kept->matrix.rank,
					   .same = pair->same };
	struct low_rank low;
	int rc = tensor_factors(&of, halt, &low);

	if (rc < 0)
		return rc;
	rc = take(kept, organ, &low);
	low_rank_release(&low);
	return rc;
}

/* Compute a new entry. Call with the lock held, which is released meanwhile. NULL with *rc set. */
static struct kept_factor *add(struct diff_factors *factors, const struct diff_matrix *matrix,
			       const struct halt *halt, int *rc)
{
	struct kept_factor *kept = calloc(1, sizeof(*kept));

	*rc = -ENOMEM;
	if (!kept)
		return NULL;
	kept->matrix = *matrix;
	kept->readers = 1;
	kept->next = factors->list;
	factors->list = kept;
	pthread_mutex_unlock(&factors->lock);
	*rc = find(factors, kept, halt);
	pthread_mutex_lock(&factors->lock);
	kept->found = *rc == 0;
	if (!kept->found) {
		*find_kept(factors, matrix) = kept->next;
		free_factor(kept);
		kept = NULL;
	}
	pthread_cond_broadcast(&factors->changed);
	return kept;
}

/* Move an entry to the front and add a reader. Call with the lock held. */
static struct kept_factor *move_first(struct diff_factors *factors, struct kept_factor **link)
{
	struct kept_factor *kept = *link;

	*link = kept->next;
	kept->next = factors->list;
	factors->list = kept;
	kept->readers++;
	return kept;
}

static struct kept_factor *get(struct diff_factors *factors, const struct diff_matrix *matrix,
			       const struct halt *halt, int *rc)
{
	for (;;) {
		struct kept_factor **link = find_kept(factors, matrix);

		*rc = halted(halt) ? -EINTR : 0;
		if (*rc < 0)
			return NULL;
		if (!*link)
			return add(factors, matrix, halt, rc);
		if ((*link)->found)
			return move_first(factors, link);
		cond_poll_wait(&factors->changed, &factors->lock);
	}
}

const struct diff_factor *diff_factors_get(struct diff_factors *factors,
					   const struct diff_matrix *matrix,
					   const atomic_bool *stop, int *rc)
{
	const struct halt halt = { stop, diff_params(factors->diff)->ending };
	struct kept_factor *kept;

	pthread_mutex_lock(&factors->lock);
	kept = get(factors, matrix, &halt, rc);
	pthread_mutex_unlock(&factors->lock);
	return kept ? &kept->factor : NULL;
}

void diff_factors_put(struct diff_factors *factors, const struct diff_factor *factor)
{
	pthread_mutex_lock(&factors->lock);
	/* The factor is the entry's first member. */
	((struct kept_factor *)(uintptr_t)factor)->readers--;
	forget(factors);
	pthread_mutex_unlock(&factors->lock);
}

bool diff_factors_has(struct diff_factors *factors, const struct diff_matrix *matrix)
{
	struct kept_factor *kept;
	bool found;

	pthread_mutex_lock(&factors->lock);
	kept = *find_kept(factors, matrix);
	found = kept && kept->found;
	pthread_mutex_unlock(&factors->lock);
	return found;
}

struct preparation {
	struct diff_factors *factors;
	const struct diff_matrix *matrices;
	const atomic_bool *stop;
};

static int prepare_next(void *context, size_t i)
{
	const struct preparation *of = context;
	int rc = 0;
	const struct diff_factor *factor =
		diff_factors_get(of->factors, &of->matrices[i], of->stop, &rc);

	if (factor)
		diff_factors_put(of->factors, factor);
	return rc;
}

int diff_factors_prepare(struct diff_factors *factors, const struct diff_matrix *matrices, size_t n,
			 const atomic_bool *stop)
{
	struct preparation of = { factors, matrices, stop };

	return parallel_run(diff_params(factors->diff)->pool, parallel_threads() - 1, n,
			    prepare_next, &of);
}

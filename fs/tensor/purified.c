/* SPDX-License-Identifier: MIT */
/* purified.c - see purified.h. */
#include "fs/tensor/purified.h"
#include "fs/storage/backing.h"
#include "fs/storage/computed_rows.h"
#include "fs/tensor/codec.h"
#include "fs/tensor/organ_views.h"
#include "gguf/dequant.h"
#include "gguf/quant.h"
#include "measure/fractal.h"
#include "measure/spectral.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define ROW_MIN 4u

/* Buffers for purifying one row. */
struct workspace {
	struct workspace *next;
	struct spectral *spectral; /* one of spectral and fractal is NULL */
	struct fractal *fractal;
	float *values;
	uint8_t *bytes; /* the row as on disk */
};

struct purified {
	struct backing *file;
	uint64_t offset;
	uint32_t from, to; /* types of the organ and of the result */
	size_t row;	   /* values of a row */
	size_t row_bytes;  /* size of a row on disk */
	size_t made_bytes; /* size of a purified row */
	enum purifier purifier;
	pthread_mutex_t lock; /* protects the members below */
	struct workspace *idle;
};

/* Is the organ purified? *made is the purified organ. */
static bool is_purified(const struct organ *organ, struct organ *made)
{
	*made = *organ;
	if (!decode_gives_weights(organ->type) || organ->dims < 2 || organ->ne[0] < ROW_MIN ||
	    organ->ne[0] > PURIFIED_ROW_MAX || organ->data_size == 0)
		return false;
	made->type = encode_type(organ->type, organ->ne[0], ENCODE_Q8_0);
	return type_size(made->type, made->ne, &made->data_size) == TYPE_SIZE_OK;
}

struct organ purified_organ(const struct organ *organ)
{
	struct organ made;

	return is_purified(organ, &made) ? made : *organ;
}

static void free_workspace(struct workspace *workspace)
{
	spectral_free(workspace->spectral);
	fractal_free(workspace->fractal);
	free(workspace->values);
	free(workspace->bytes);
	free(workspace);
}

static struct workspace *new_workspace(const struct purified *purified)
{
	const float most = quant_max(purified->to);
	struct workspace *workspace = calloc(1, sizeof(*workspace));

	if (!workspace)
		return NULL;
	workspace->values = malloc(purified->row * sizeof(*workspace->values));
	workspace->bytes = malloc(purified->row_bytes);
	if (purified->purifier == PURIFIER_SPECTRAL)
		workspace->spectral = spectral_new(purified->row, most);
	else
		workspace->fractal = fractal_new(purified->row, most);
	if (workspace->values && workspace->bytes && (workspace->spectral || workspace->fractal))
		return workspace;
	free_workspace(workspace);
	return NULL;
}

static struct workspace *acquire_workspace(struct purified *purified)
{
	struct workspace *workspace;

	pthread_mutex_lock(&purified->lock);
	workspace = purified->idle;
	if (workspace)
		purified->idle = workspace->next;
	pthread_mutex_unlock(&purified->lock);
	return workspace ? workspace : new_workspace(purified);
}

static void release_workspace(struct purified *purified, struct workspace *workspace)
{
	pthread_mutex_lock(&purified->lock);
	workspace->next = purified->idle;
	purified->idle = workspace;
	pthread_mutex_unlock(&purified->lock);
}

/* Purify the row in the workspace and encode it. An unchanged row keeps its bits, NaNs included. */
static void make_row(const struct purified *purified, struct workspace *workspace, uint8_t *made)
{
	float *x = workspace->values;
	bool changed;

	dequant_blocks(purified->from, workspace->bytes,
		       purified->row / type_find(purified->from)->block_elements, x);
	if (workspace->spectral)
		changed = spectral_purify(workspace->spectral, x, x, SPECTRAL_KEEP);
	else
		changed = fractal_purify(workspace->fractal, x, x, FRACTAL_STRENGTH);
	if (!changed && purified->from == purified->to)
		memcpy(made, workspace->bytes, purified->made_bytes);
	else
		quant_row(purified->to, x, purified->row, NULL, made);
}

static int make(void *context, unsigned flags, uint64_t first, size_t n, void *bytes,
		const atomic_bool *stop)
{
	struct purified *purified = context;
	struct workspace *workspace = acquire_workspace(purified);
	uint8_t *made = bytes;
	int rc = workspace ? 0 : -ENOMEM;

	for (uint64_t i = first; rc == 0 && i < first + n; i++) {
		const uint64_t at = purified->offset + i * purified->row_bytes;

		rc = backing_read_cancellable(purified->file, flags, workspace->bytes,
					      purified->row_bytes, at, stop);
		if (rc == 0)
			make_row(purified, workspace, made);
		made += purified->made_bytes;
	}
	if (workspace)
		release_workspace(purified, workspace);
	return rc;
}

static void release(void *context)
{
	struct purified *purified = context;

	while (purified->idle) {
		struct workspace *workspace = purified->idle;

		purified->idle = workspace->next;
		free_workspace(workspace);
	}
	pthread_mutex_destroy(&purified->lock);
	backing_unref(purified->file);
	free(purified);
}

static struct backing *rows_of(enum purifier purifier, const struct organ_location *located,
			       const struct organ *made)
{
	const struct organ *organ = &located->organ;
	struct purified *purified = calloc(1, sizeof(*purified));
	struct computed_rows_source source = { .make = make,
					       .release = release,
					       .context = purified };

	if (!purified)
		return NULL;
	/* Whole rows; ne[0] is not 0. */
	shape_elements(organ->ne, &source.n);
	source.n /= organ->ne[0];
	purified->file = backing_ref(located->file);
	purified->offset = located->offset;
	purified->from = organ->type;
	purified->to = made->type;
	purified->row = (size_t)organ->ne[0];
	purified->row_bytes = (size_t)(organ->data_size / source.n);
	purified->made_bytes = (size_t)(made->data_size / source.n);
	purified->purifier = purifier;
	pthread_mutex_init(&purified->lock, NULL);
	source.length = purified->made_bytes;
	return computed_rows_new(&source, located->file);
}

struct view *purified_view(enum purifier purifier, const struct organ_location *located)
{
	struct organ_location made = { .offset = 0 };
	struct view *view;

	if (!is_purified(&located->organ, &made.organ))
		return organ_location_view(located);
	made.file = rows_of(purifier, located, &made.organ);
	if (!made.file)
		return NULL;
	view = organ_location_view(&made);
	backing_unref(made.file);
	return view;
}

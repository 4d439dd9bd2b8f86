/* SPDX-License-Identifier: MIT */
/* gguf_hash.c - see gguf_hash.h. The hash of each tensor is its content's; that of all is the
 * view's, made by the first who asks for it. */
#include "fs/files/gguf_hash.h"
#include "fs/lazy/lazy_text.h"
#include "fs/util/cond_poll.h"
#include "gguf/printable.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* In a subject: not one tensor but all. */
#define WHOLE UINT32_MAX

struct gguf_hash {
	struct model *model;
	struct tensor_hashes *hashes;
	const atomic_bool *ending;
	struct subject *order; /* as the model has them, with references */
	uint32_t n, n_base;    /* all; those before the added ones */
	pthread_mutex_t lock;  /* protects what follows */
	pthread_cond_t changed;
	bool is_making, is_made;
	char whole[17];
};

static void release(void *context)
{
	struct gguf_hash *all = context;

	for (uint32_t i = 0; i < all->n; i++)
		content_unref(all->order[i].content);
	pthread_mutex_destroy(&all->lock);
	pthread_cond_destroy(&all->changed);
	free(all->order);
	free(all);
}

static bool is_halted(const struct gguf_hash *all, const atomic_bool *stop)
{
	return (stop && atomic_load(stop)) || (all->ending && atomic_load(all->ending));
}

/* The data of all tensors through one hash, which is the work of one processor. */
static int hash_all(const struct gguf_hash *all, const atomic_bool *stop, char text[17])
{
	XXH64_state_t *state = XXH64_createState();
	int rc = state ? 0 : -ENOMEM;

	if (state)
		XXH64_reset(state, 0);
	for (uint32_t i = 0; rc == 0 && i < all->n; i++)
		rc = tensor_hash_data(all->model, &all->order[i], state, stop, all->ending);
	if (rc == 0)
		xxh64_text(XXH64_digest(state), text);
	XXH64_freeState(state);
	return rc;
}

/* With the lock held: wait until nobody makes it. Whoever does may be interrupted. */
static int await_turn(struct gguf_hash *all, const atomic_bool *stop)
{
	while (all->is_making) {
		if (is_halted(all, stop))
			return -EINTR;
		cond_poll_wait(&all->changed, &all->lock);
	}
	return 0;
}

static int prepare_whole(struct gguf_hash *all, const atomic_bool *stop)
{
	char text[17];
	int rc;

	pthread_mutex_lock(&all->lock);
	rc = await_turn(all, stop);
	if (rc == 0 && !all->is_made) {
		all->is_making = true;
		pthread_mutex_unlock(&all->lock);
		rc = hash_all(all, stop, text);
		pthread_mutex_lock(&all->lock);
		all->is_making = false;
		all->is_made = rc == 0;
		if (rc == 0)
			memcpy(all->whole, text, sizeof(text));
		pthread_cond_broadcast(&all->changed);
	}
	pthread_mutex_unlock(&all->lock);
	return rc;
}

static int prepare(void *context, const struct subject *subjects, size_t n, const atomic_bool *stop)
{
	struct gguf_hash *all = context;
	const bool whole = subjects[n - 1].tensor == WHOLE;
	int rc = tensor_hashes_prepare(all->hashes, HASH_DATA, subjects, n - whole, stop);

	if (rc == 0 && whole)
		rc = prepare_whole(all, stop);
	return rc;
}

static int fill(void *context, const struct subject *subject, char *bytes, size_t length,
		const atomic_bool *stop)
{
	struct gguf_hash *all = context;
	char text[XXH128_TEXT];
	int rc;

	if (subject->tensor == WHOLE) {
		rc = prepare_whole(all, stop);
		/* Made, it does not change any more. */
		memcpy(text, all->whole, sizeof(all->whole));
	} else {
		rc = tensor_hashes_get(all->hashes, HASH_DATA, subject, stop, text);
	}
	if (rc == 0)
		memcpy(bytes, text, length);
	return rc;
}

static int compare_names(const void *a, const void *b, void *model)
{
	const struct organ_place *places = ((const struct model *)model)->places;
	const struct organ_place *x = &places[((const struct subject *)a)->tensor];
	const struct organ_place *y = &places[((const struct subject *)b)->tensor];
	const uint32_t n =
		x->tensor_length < y->tensor_length ? x->tensor_length : y->tensor_length;
	const int order = memcmp(x->tensor, y->tensor, n);

	return order ? order
		     : (x->tensor_length > y->tensor_length) -
			       (x->tensor_length < y->tensor_length);
}

/* As layout.h says: the base's in their order, then the added ones by name. */
static void find_order(struct gguf_hash *all, const struct snapshot *snapshot)
{
	for (uint32_t i = 0; i < snapshot->n; i++) {
		struct content *content = snapshot->content[i];

		if (content_is_whiteout(content))
			continue;
		if (content)
			content_ref(content);
		if (i < all->model->gguf->n_tensors)
			all->n_base++;
		all->order[all->n++] = (struct subject){ i, content };
	}
	qsort_r(all->order + all->n_base, all->n - all->n_base, sizeof(*all->order), compare_names,
		all->model);
}

static struct gguf_hash *new_hash(struct model *model, const struct snapshot *snapshot)
{
	struct gguf_hash *all = calloc(1, sizeof(*all));

	if (!all)
		return NULL;
	all->model = model;
	all->order = calloc(snapshot->n + 1u, sizeof(*all->order));
	if (!all->order) {
		free(all);
		return NULL;
	}
	pthread_mutex_init(&all->lock, NULL);
	cond_poll_init(&all->changed);
	find_order(all, snapshot);
	return all;
}

static void write_line(FILE *out, const struct organ_place *place)
{
	fputs("  model.gguf:", out);
	for (uint32_t i = 0, controls = 0; i < place->tensor_length; i++) {
		const char *at = place->tensor + i;

		if (!controls)
			controls = (uint32_t)control_length(at, place->tensor_length - i, NULL);
		fprintf(out, controls ? "%%%02X" : "%c", (unsigned char)*at);
		controls -= controls > 0;
	}
	fputc('\n', out);
}

struct view *gguf_hash_view(struct model *model, struct tensor_hashes *hashes,
			    const struct snapshot *snapshot, const atomic_bool *ending)
{
	static const struct lazy_text_source source = { prepare, fill, release };
	static const struct subject whole = { WHOLE, NULL };
	struct gguf_hash *all = new_hash(model, snapshot);
	struct lazy_text *cells = all ? lazy_text_new_from(&source, all) : NULL;

	if (!cells)
		return NULL;
	all->hashes = hashes;
	all->ending = ending;
	for (uint32_t i = 0; i < all->n; i++) {
		fputs("xxh64     ", lazy_text_stream(cells));
		lazy_text_add_filled(cells, &all->order[i], tensor_hash_width(HASH_DATA));
		write_line(lazy_text_stream(cells), &model->places[all->order[i].tensor]);
	}
	/* What is there of it has a hash that nobody else would find. */
	if (model->whole) {
		fputs("xxh64     ", lazy_text_stream(cells));
		lazy_text_add_filled(cells, &whole, tensor_hash_width(HASH_DATA));
		fputs("  model.gguf\n", lazy_text_stream(cells));
	}
	return lazy_text_view(cells);
}

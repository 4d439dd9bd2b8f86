/* SPDX-License-Identifier: MIT */
/* gguf_hash.c - see gguf_hash.h. The hash of each tensor is its content's; that of all is the
 * view's. */
#include "fs/files/gguf_hash.h"
#include "fs/lazy/lazy_text.h"
#include "fs/lazy/whole_text.h"
#include "fs/util/text_escape.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* In a subject: not one tensor but all. */
#define WHOLE UINT32_MAX

struct gguf_hash {
	struct model *model;
	struct tensor_hashes *hashes;
	struct subject *order;	  /* as the model has them, with references */
	uint32_t n, n_base;	  /* all; those before the added ones */
	struct whole_text *whole; /* the hash of all, as text */
};

static void release(void *context)
{
	struct gguf_hash *all = context;

	for (uint32_t i = 0; i < all->n; i++)
		content_unref(all->order[i].content);
	if (all->whole)
		whole_text_free(all->whole);
	free(all->order);
	free(all);
}

/* The data of all tensors through one hash, which is the work of one processor. */
static int print_whole(void *context, const struct halt *halt, FILE *out)
{
	const struct gguf_hash *all = context;
	XXH64_state_t *state = XXH64_createState();
	char text[17];
	int rc = 0;

	if (!state)
		return -ENOMEM;
	XXH64_reset(state, 0);
	for (uint32_t i = 0; halt && rc == 0 && i < all->n; i++)
		rc = tensor_hash_data(all->model, &all->order[i], state, halt);
	xxh64_text(XXH64_digest(state), text);
	XXH64_freeState(state);
	fputs(text, out);
	return rc;
}

static int prepare(void *context, const struct subject *subjects, size_t n, const atomic_bool *stop)
{
	struct gguf_hash *all = context;
	const bool whole = subjects[n - 1].tensor == WHOLE;
	const int rc = memo_prepare(all->hashes->kinds[HASH_DATA], subjects, n - whole, stop);

	return rc == 0 && whole ? whole_text_read(all->whole, stop, NULL, 0) : rc;
}

static int fill(void *context, const struct subject *subject, char *bytes, size_t length,
		const atomic_bool *stop)
{
	struct gguf_hash *all = context;
	char text[XXH128_TEXT];
	int rc;

	if (subject->tensor == WHOLE)
		return whole_text_read(all->whole, stop, bytes, length);
	rc = tensor_hashes_get(all->hashes, HASH_DATA, subject, stop, text);
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

static struct gguf_hash *new_hash(struct model *model, struct tensor_hashes *hashes,
				  const struct snapshot *snapshot, const atomic_bool *ending)
{
	static const struct whole_text_ops ops = { print_whole, NULL };
	struct gguf_hash *all = calloc(1, sizeof(*all));

	if (!all)
		return NULL;
	all->model = model;
	all->hashes = hashes;
	all->order = calloc(snapshot->n + 1u, sizeof(*all->order));
	all->whole = whole_text_new(&ops, all, ending);
	if (!all->order || !all->whole) {
		release(all);
		return NULL;
	}
	find_order(all, snapshot);
	return all;
}

struct view *gguf_hash_view(struct model *model, struct tensor_hashes *hashes,
			    const struct snapshot *snapshot, const atomic_bool *ending)
{
	static const struct lazy_text_source source = { prepare, fill, release };
	static const struct subject whole = { WHOLE, NULL };
	struct gguf_hash *all = new_hash(model, hashes, snapshot, ending);
	struct lazy_text *cells = all ? lazy_text_new_from(&source, all) : NULL;

	if (!cells)
		return NULL;
	for (uint32_t i = 0; i < all->n; i++) {
		const struct organ_place *place = &model->places[all->order[i].tensor];

		fputs("xxh64     ", lazy_text_stream(cells));
		lazy_text_add_filled(cells, &all->order[i], tensor_hash_width(HASH_DATA));
		fputs("  model.gguf:", lazy_text_stream(cells));
		text_escape_print(place->tensor, place->tensor_length, "", lazy_text_stream(cells));
		fputc('\n', lazy_text_stream(cells));
	}
	/* What is there of it has a hash that nobody else would find. */
	if (model->whole) {
		fputs("xxh64     ", lazy_text_stream(cells));
		lazy_text_add_filled(cells, &whole, tensor_hash_width(HASH_DATA));
		fputs("  model.gguf\n", lazy_text_stream(cells));
	}
	return lazy_text_view(cells);
}

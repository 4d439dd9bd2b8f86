/* SPDX-License-Identifier: MIT */
/* checksums.c - see checksums.h. In gguf-hash.xxh64 the hash of a tensor belongs to its content,
 * and that of all tensors to the view. */
#include "fs/files/checksums.h"
#include "fs/lazy/lazy_text.h"
#include "fs/lazy/memo.h"
#include "fs/lazy/tensor_hashes.h"
#include "fs/lazy/whole_text.h"
#include "fs/model/adapters.h"
#include "fs/model/model.h"
#include "fs/util/text_escape.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static void add_class(struct lazy_text *cells, struct model *model, const struct snapshot *snapshot,
		      const uint32_t *order, enum organ_class klass)
{
	for (uint32_t k = 0; k < snapshot->n; k++) {
		const uint32_t i = order[k];
		const struct subject subject = { i, snapshot->content[i] };
		char path[ORGAN_PATH_MAX];

		if (model->places[i].klass != klass || content_is_whiteout(subject.content))
			continue;
		lazy_text_add_hash(cells, &subject);
		fprintf(lazy_text_stream(cells), "  %s\n", model_organ_path(model, i, path));
	}
}

struct view *checksums_view(struct model *model, struct tensor_hashes *hashes,
			    const struct snapshot *snapshot)
{
	struct lazy_text *cells = lazy_text_new_of_hashes(hashes, HASH_FILE);
	uint32_t *order = model_order(model, snapshot->n);

	if (cells && !order)
		lazy_text_fail(cells);
	for (enum organ_class klass = 0; cells && order && klass < CLASSES; klass++)
		add_class(cells, model, snapshot, order, klass);
	free(order);
	return cells ? lazy_text_view(cells) : NULL;
}

struct gguf_hash {
	struct model *model;
	struct subject *order; /* in the model's order, with references */
	uint32_t n;
};

static void release(void *context)
{
	struct gguf_hash *all = context;

	for (uint32_t i = 0; i < all->n; i++)
		content_unref(all->order[i].content);
	free(all->order);
	free(all);
}

/* Hash the data of all tensors in sequence, on one processor. */
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

/* The tensors to hash, in the order of model.gguf. */
static struct gguf_hash *new_hash(struct model *model, const struct snapshot *snapshot)
{
	struct gguf_hash *all = calloc(1, sizeof(*all));
	uint32_t *order = model_order(model, snapshot->n);

	if (!all || !order || !(all->order = calloc(snapshot->n + 1u, sizeof(*all->order)))) {
		free(order);
		free(all);
		return NULL;
	}
	all->model = model;
	for (uint32_t k = 0; k < snapshot->n; k++) {
		const uint32_t i = order[k];
		struct content *content = snapshot->content[i];

		if (content_is_whiteout(content) || adapters_is_half(model, i))
			continue;
		if (content)
			content_ref(content);
		all->order[all->n++] = (struct subject){ i, content };
	}
	free(order);
	return all;
}

struct view *checksums_gguf_hash(struct model *model, struct tensor_hashes *hashes,
				 const struct snapshot *snapshot, const atomic_bool *ending)
{
	static const struct whole_text_ops ops = { print_whole, release };
	struct gguf_hash *all = new_hash(model, snapshot);
	struct lazy_text *cells = all ? lazy_text_new_of_hashes(hashes, HASH_DATA) : NULL;
	FILE *out = cells ? lazy_text_stream(cells) : NULL;

	for (uint32_t i = 0; cells && i < all->n; i++) {
		const struct organ_place *place = &model->places[all->order[i].tensor];

		fputs("xxh64     ", out);
		lazy_text_add_hash(cells, &all->order[i]);
		fputs("  model.gguf:", out);
		text_escape_print(place->tensor, place->tensor_length, "", out);
		fputc('\n', out);
	}
	/* No other program would compute the hash of a model that lacks shards. */
	if (cells && model->whole) {
		fputs("xxh64     ", out);
		lazy_text_add_whole(cells, whole_text_new(&ops, all, ending));
		fputs("  model.gguf\n", out);
	} else if (all) {
		release(all);
	}
	return cells ? lazy_text_view(cells) : NULL;
}

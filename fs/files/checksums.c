/* SPDX-License-Identifier: MIT */
/* checksums.c - see checksums.h. */
#include "fs/files/checksums.h"
#include "fs/lazy/lazy_text.h"

static void add_class(struct lazy_text *cells, struct model *model, const struct snapshot *snapshot,
		      enum organ_class klass)
{
	for (uint32_t k = 0, i; model_class_slot(model, klass, k, &i) && i < snapshot->n; k++) {
		const struct subject subject = { i, snapshot->content[i] };
		char path[ORGAN_PATH_MAX];

		if (content_is_whiteout(subject.content))
			continue;
		lazy_text_add_hash(cells, &subject);
		fprintf(lazy_text_stream(cells), "  %s\n", model_organ_path(model, i, path));
	}
}

struct view *checksums_view(struct model *model, struct tensor_hashes *hashes,
			    const struct snapshot *snapshot)
{
	struct lazy_text *cells = lazy_text_new_of_hashes(hashes, HASH_FILE);

	if (!cells)
		return NULL;
	for (enum organ_class klass = 0; klass < CLASSES; klass++)
		add_class(cells, model, snapshot, klass);
	return lazy_text_view(cells);
}

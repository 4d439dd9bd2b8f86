/* SPDX-License-Identifier: MIT */
/* checksums.c - see checksums.h. */
#include "fs/files/checksums.h"
#include "fs/lazy/lazy_text.h"

#include <string.h>

static int prepare(void *context, const struct subject *subjects, size_t n, const atomic_bool *stop)
{
	const struct tensor_hashes *hashes = context;

	return memo_prepare(hashes->kinds[HASH_FILE], subjects, n, stop);
}

static int fill(void *context, const struct subject *subject, char *bytes, size_t length,
		const atomic_bool *stop)
{
	char text[XXH128_TEXT];
	const int rc = tensor_hashes_get(context, HASH_FILE, subject, stop, text);

	if (rc == 0)
		memcpy(bytes, text, length);
	return rc;
}

static void add_class(struct lazy_text *cells, struct model *model, const struct snapshot *snapshot,
		      enum organ_class klass)
{
	for (uint32_t k = 0, i; model_class_slot(model, klass, k, &i) && i < snapshot->n; k++) {
		const struct subject subject = { i, snapshot->content[i] };
		char path[ORGAN_PATH_MAX];

		if (content_is_whiteout(subject.content))
			continue;
		lazy_text_add_filled(cells, &subject, tensor_hash_width(HASH_FILE));
		fprintf(lazy_text_stream(cells), "  %s\n", model_organ_path(model, i, path));
	}
}

struct view *checksums_view(struct model *model, struct tensor_hashes *hashes,
			    const struct snapshot *snapshot)
{
	static const struct lazy_text_source source = { prepare, fill, NULL };
	struct lazy_text *cells = lazy_text_new_from(&source, hashes);

	if (!cells)
		return NULL;
	for (enum organ_class klass = 0; klass < CLASSES; klass++)
		add_class(cells, model, snapshot, klass);
	return lazy_text_view(cells);
}

/* SPDX-License-Identifier: MIT */
/* checksums.c - see checksums.h. */
#include "fs/files/checksums.h"
#include "fs/lazy/lazy_text.h"

#include <string.h>

static int prepare(void *context, const struct subject *subjects, size_t n, const atomic_bool *stop)
{
	return digests_prepare(context, DIGEST_FILE, subjects, n, stop);
}

static int fill(void *context, const struct subject *subject, char *bytes, size_t length,
		const atomic_bool *stop)
{
	char text[XXH128_TEXT];
	const int rc = digests_get(context, DIGEST_FILE, subject, stop, text);

	if (rc == 0)
		memcpy(bytes, text, length);
	return rc;
}

static void add_class(struct cells *cells, struct model *model, const struct snapshot *snapshot,
		      enum organ_class klass)
{
	for (uint32_t k = 0, i; model_member(model, klass, k, &i) && i < snapshot->n; k++) {
		const struct subject subject = { i, snapshot->content[i] };
		char path[ORGAN_PATH_MAX];

		if (content_is_nothing(subject.content))
			continue;
		cells_add_filled(cells, &subject, digest_width(DIGEST_FILE));
		fprintf(cells_text(cells), "  %s\n", model_organ_path(model, i, path));
	}
}

struct view *checksums_view(struct model *model, struct digests *digests,
			    const struct snapshot *snapshot)
{
	static const struct cell_source source = { prepare, fill, NULL };
	struct cells *cells = cells_new_from(&source, digests);

	if (!cells)
		return NULL;
	for (enum organ_class klass = 0; klass < CLASSES; klass++)
		add_class(cells, model, snapshot, klass);
	return cells_view(cells);
}

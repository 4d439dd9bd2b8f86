/* SPDX-License-Identifier: MIT */
/* undo_list.c - see undo_list.h. */
#include "fs/files/undo_list.h"
#include "fs/edit/metadata_edit.h"
#include "fs/model/adapters.h"
#include "fs/util/paths.h"
#include "fs/util/plural.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What there is to say of the words. */
struct listing {
	struct model *model;
	const struct snapshot *snapshot;
	FILE *out;
	uint32_t n[CLASSES + 1]; /* the last are keys */
};

static const struct content *own_of(const struct listing *listing, uint32_t i)
{
	const struct content *own = content_own(listing->snapshot->content[i]);

	return i < listing->model->gguf->n_tensors || (own && !content_is_whiteout(own)) ? own
											 : NULL;
}

static void print_file(FILE *out, const char *path)
{
	if (path) {
		fputc('\t', out);
		paths_print(path, strlen(path), out);
	}
	fputc('\n', out);
}

static void list_slots(const struct listing *listing)
{
	char path[ORGAN_PATH_MAX];

	for (uint32_t i = 0; i < listing->snapshot->n; i++) {
		const struct content *own = own_of(listing, i);

		if (!own)
			continue;
		fprintf(listing->out, "# %s\t%s", model_organ_path(listing->model, i, path),
			content_kind_name(own));
		print_file(listing->out, own->donor ? donor_path(own->donor) : NULL);
	}
}

static void list_keys(const struct listing *listing)
{
	const struct metadata_edits *edits = listing->snapshot->edits;

	for (uint32_t i = 0; edits && i < edits->n; i++) {
		const struct metadata_edit *edit = &edits->edits[i];

		fprintf(listing->out, "# " METADATA_DIRECTORY "%s\t%s\n", edit->key.name,
			!edit->metadatum		       ? "removed"
			: edit->i < listing->model->gguf->n_kv ? "edited"
							       : "added");
	}
}

static void list_adapters(struct listing *listing, bool print)
{
	struct adapter_attr shown;
	char file[NAME_MAX + 1];

	for (uint64_t place = 0; adapters_next(listing->model, &place, file, &shown); place++) {
		if (shown.set && !print)
			listing->n[CLASS_ADAPTERS]++;
		if (shown.set && print) {
			fprintf(listing->out, "# adapters/");
			paths_print(file, strlen(file), listing->out);
			fprintf(listing->out, "\t%s",
				shown.kind == ADAPTER_GGUF ? "adapter" : "setting");
			print_file(listing->out, shown.link ? shown.link->target : NULL);
		}
		content_unref(shown.link);
	}
}

static void count(struct listing *listing)
{
	for (uint32_t i = 0; i < listing->snapshot->n; i++)
		if (own_of(listing, i))
			listing->n[listing->model->places[i].klass]++;
	listing->n[CLASSES] = listing->snapshot->edits ? listing->snapshot->edits->n : 0;
	list_adapters(listing, false);
}

static void print_count(FILE *out, const char *word, uint32_t n)
{
	if (n)
		fprintf(out, "# %s\t%" PRIu32 " change%s\n", word, n, plural(n));
}

static void print_all(struct listing *listing)
{
	FILE *out = listing->out;
	uint32_t all = 0;

	count(listing);
	for (size_t i = 0; i <= CLASSES; i++)
		all += listing->n[i];
	fputs(all ? "# one of these words a line, written here, undoes it; several do in one step\n"
		  : "# nothing is changed\n",
	      out);
	print_count(out, "all", all);
	for (enum organ_class klass = 0; klass < CLASSES; klass++)
		print_count(out, class_name(klass), listing->n[klass]);
	print_count(out, "metadata", listing->n[CLASSES]);
	list_slots(listing);
	list_keys(listing);
	list_adapters(listing, true);
}

struct view *undo_list(struct model *model, const struct snapshot *snapshot)
{
	char *text = NULL;
	size_t size;
	struct listing listing = { model, snapshot, open_memstream(&text, &size), { 0 } };

	if (!listing.out)
		return NULL;
	print_all(&listing);
	return view_of_stream(listing.out, &text, &size);
}

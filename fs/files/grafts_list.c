/* SPDX-License-Identifier: MIT */
/* grafts_list.c - see grafts_list.h. */
#include "fs/files/grafts_list.h"
#include "fs/base/donor.h"
#include "fs/edit/block_order_edit.h"
#include "fs/edit/metadata_edit.h"
#include "fs/merge/merge_note.h"
#include "fs/metadata/metadata.h"
#include "fs/metadata/value.h"
#include "fs/model/adapters.h"
#include "fs/model/merge_force.h"
#include "fs/model/model.h"
#include "fs/model/slots.h"
#include "fs/storage/view.h"
#include "fs/util/paths.h"
#include "fs/util/plural.h"
#include "fs/util/time_text.h"
#include "fs/util/url.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void write_time(FILE *out, const struct timespec *time)
{
	char text[TIME_TEXT_MAX];

	fputs(time_text(time, text), out);
}

/* Write a tab and a field, "-" if it is missing. */
static void write_name(FILE *out, const char *name, size_t n)
{
	fputc('\t', out);
	if (name)
		paths_print(name, n, out);
	else
		fputc('-', out);
}

/* Write the fields of the donor's file and tensor. */
static void write_donor(FILE *out, const struct donor *donor)
{
	const char *path = donor ? donor_path(donor) : NULL;
	size_t n = 0;
	const char *tensor = donor ? donor_tensor(donor, &n) : NULL;

	write_name(out, path, path ? strlen(path) : 0);
	write_name(out, tensor, n);
}

static void write_graft(FILE *out, struct model *model, uint32_t i, const struct content *content)
{
	char path[ORGAN_PATH_MAX], scratch[TYPE_NAME_MAX], shape[SHAPE_TEXT_MAX];
	const struct organ *organ = &content->organ;

	fprintf(out, "%s\t", model_organ_path(model, i, path));
	if (content->kind == CONTENT_MERGED && content_is_graft(content->own))
		fprintf(out, "%s ", content_kind_name(content->own));
	fprintf(out, "%s\t", content_kind_name(content));
	if (content_is_whiteout(content)) {
		fputs("-\t-\t0\t-\t-\t-\t-\n", out);
		return;
	}
	fprintf(out, "%s\t%s\t%" PRIu64 "\t", type_name(organ->type, scratch),
		shape_text(organ->ne, organ->dims, shape), organ->data_size);
	paths_print(organ->name, organ->name_length, out);
	fputc('\t', out);
	write_time(out, &content->mtime);
	write_donor(out, content->donor);
	fputc('\n', out);
}

static const char *edit_word(const struct model *model, const struct metadata_edit *edit)
{
	if (!edit->metadatum)
		return "removed";
	return edit->i < model->gguf->n_kv ? "edited" : "added";
}

static void write_edit(FILE *out, const struct model *model, const struct metadata_edit *edit)
{
	char type[VALUE_TYPE_TEXT];
	const struct value *value;
	struct timespec mtime;

	fprintf(out, METADATA_DIRECTORY "%s\t%s\t", edit->key.name, edit_word(model, edit));
	if (!edit->metadatum) {
		fputs("-\t-\t0\t-\t-\t-\t-\n", out);
		return;
	}
	value = metadata_entry_value(edit->metadatum);
	mtime = metadata_entry_mtime(edit->metadatum);
	fprintf(out, "%s\t-\t%" PRIu64 "\t-\t", value_type_text(value->type, type), value->length);
	write_time(out, &mtime);
	fputs("\t-\t-\n", out);
}

static void write_adapter(FILE *out, const struct adapter_line *line)
{
	char text[ADAPTER_TEXT_MAX];

	text[adapter_scale_print(&line->scale, text) - 1] = '\0';
	if (adapters_is_importance(line->name)) {
		fprintf(out, "%s\t%simportance\t-\t-\t%" PRIu64 "\t-\t", line->name,
			line->broken ? "broken " : "", line->bytes);
	} else {
		fputs("adapters/", out);
		paths_print(line->name, strlen(line->name), out);
		fprintf(out, "\t%sadapter\t%s\t%" PRIu32 "\t%" PRIu64 "\t-\t",
			line->broken ? "broken " : "", text, line->touched, line->bytes);
	}
	write_time(out, &line->mtime);
	write_name(out, line->file, line->file ? strlen(line->file) : 0);
	fputs("\t-\n", out);
}

/* Whether .grafts has a line for the slot; a slot filled by a merge of models alone is no graft. */
static bool is_listed(const struct model *model, const struct snapshot *snapshot, uint32_t i)
{
	return slots_is_changed(model->slots, i, snapshot->content[i]);
}

/* Write a model's name as it was written, without a URL's secrets; nothing if out of memory. */
static void write_model(FILE *out, const char *written)
{
	char *shown = url_is_remote(written) ? url_shown(written) : strdup(written);

	if (shown)
		paths_print(shown, strlen(shown), out);
	free(shown);
}

/* Write the line of a merge; the names of its models are in the field of the tensor name. */
static void write_merge(FILE *out, const struct merge_state *merge)
{
	fprintf(out, ".merge\t%smerge\t%s\t%" PRIu32 "\t%" PRIu64 "\t",
		merge->broken ? "broken " : "", merge->method, merge->made + merge->passed,
		merge->bytes);
	for (size_t i = 0; i < merge->n_models; i++) {
		if (i)
			fputc(',', out);
		write_model(out, merge->models[i].written);
	}
	fputc('\t', out);
	write_time(out, &merge->mtime);
	fputs("\t-\t-\n", out);
}

struct view *grafts_list_view(struct model *model, const struct snapshot *snapshot)
{
	uint32_t *order = model_order(model, snapshot->n);
	struct merge_state *merge;
	char *text = NULL;
	size_t size;
	FILE *out = order ? open_memstream(&text, &size) : NULL;

	if (!out) {
		free(order);
		return NULL;
	}
	merge = merge_force_get(model);
	if (merge)
		write_merge(out, merge);
	merge_state_unref(merge);
	for (uint32_t k = 0; k < snapshot->n; k++)
		if (is_listed(model, snapshot, order[k]))
			write_graft(out, model, order[k], snapshot->content[order[k]]);
	for (uint32_t i = 0; snapshot->edits && i < snapshot->edits->n; i++)
		write_edit(out, model, &snapshot->edits->edits[i]);
	for (uint32_t i = 0; snapshot->adapters && i < snapshot->adapters->n; i++)
		write_adapter(out, &snapshot->adapters->lines[i]);
	free(order);
	return view_of_stream(out, &text, &size);
}

/* Arguments of the functions that print .undo. */
struct listing {
	struct model *model;
	const struct snapshot *snapshot;
	const uint32_t *order; /* of the slots */
	FILE *out;
	uint32_t n[CLASSES + 1]; /* changes by class; the last are keys */
};

static const struct content *own_of(const struct listing *listing, uint32_t i)
{
	const struct content *own = content_own(listing->snapshot->content[i]);

	return slots_is_changed(listing->model->slots, i, own) ? own : NULL;
}

/* Whether .undo would change the slot. */
static bool is_undone(const struct listing *listing, uint32_t i)
{
	return own_of(listing, i) || listing->snapshot->types[i].is_set;
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

	for (uint32_t k = 0; k < listing->snapshot->n; k++) {
		const uint32_t i = listing->order[k];
		const struct content *own = own_of(listing, i);

		if (!is_undone(listing, i))
			continue;
		fprintf(listing->out, "# %s\t%s", model_organ_path(listing->model, i, path),
			own ? content_kind_name(own) : "retyped");
		print_file(listing->out, own && own->donor ? donor_path(own->donor) : NULL);
	}
}

static void list_keys(const struct listing *listing)
{
	const struct metadata_edits *edits = listing->snapshot->edits;

	for (uint32_t i = 0; edits && i < edits->n; i++) {
		const struct metadata_edit *edit = &edits->edits[i];

		fprintf(listing->out, "# " METADATA_DIRECTORY "%s\t%s\n", edit->key.name,
			edit_word(listing->model, edit));
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
			fprintf(listing->out, "# %s",
				adapters_is_importance(file) ? "" : "adapters/");
			paths_print(file, strlen(file), listing->out);
			fprintf(listing->out, "\t%s",
				adapters_is_importance(file) ? "importance"
				: shown.kind == ADAPTER_GGUF ? "adapter"
							     : "setting");
			print_file(listing->out, shown.link ? shown.link->target : NULL);
		}
		content_unref(shown.link);
	}
}

static void count(struct listing *listing)
{
	for (uint32_t i = 0; i < listing->snapshot->n; i++)
		if (is_undone(listing, i))
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
	const bool order = block_order_edit_is_in_force(listing->model);
	uint32_t all = order;

	count(listing);
	for (size_t i = 0; i <= CLASSES; i++)
		all += listing->n[i];
	fputs(all ? "# write one of these words here to undo its changes; several lines are one "
		    "step\n"
		  : "# nothing is changed\n",
	      out);
	print_count(out, "all", all);
	for (enum organ_class klass = 0; klass < CLASSES; klass++)
		print_count(out, class_name(klass), listing->n[klass]);
	print_count(out, "metadata", listing->n[CLASSES]);
	if (order)
		fputs("# " BLOCK_ORDER_NAME "\torder\n", out);
	list_slots(listing);
	list_keys(listing);
	list_adapters(listing, true);
}

struct view *grafts_list_undo(struct model *model, const struct snapshot *snapshot)
{
	uint32_t *order = model_order(model, snapshot->n);
	char *text = NULL;
	size_t size;
	struct listing listing = { .model = model, .snapshot = snapshot, .order = order };

	listing.out = order ? open_memstream(&text, &size) : NULL;
	if (listing.out)
		print_all(&listing);
	free(order);
	if (!listing.out)
		return NULL;
	return view_of_stream(listing.out, &text, &size);
}

/* SPDX-License-Identifier: MIT */
/* report_json.c - see report_json.h. */
#include "fs/report/report_json.h"
#include "fs/base/donor.h"
#include "fs/base/shards.h"
#include "fs/lazy/figures.h"
#include "fs/lazy/memo.h"
#include "fs/lazy/theta_text.h"
#include "fs/model/model.h"
#include "fs/report/card.h"
#include "fs/report/json_out.h"
#include "fs/report/theta_mean.h"
#include "fs/storage/backing.h"
#include "fs/util/time_text.h"
#include "gguf/reader.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Sums over some tensors. */
struct json_group {
	struct theta_mean mean;
	uint64_t parameters, bytes;
};

static void group_add(struct json_group *group, const struct figure *figure)
{
	theta_mean_add(&group->mean, figure->z, figure->elements);
	group->parameters += figure->elements;
	/* An unknown size makes the sum unknown. */
	if (group->bytes != UINT64_MAX && figure->bytes != UINT64_MAX)
		group->bytes += figure->bytes;
	else
		group->bytes = UINT64_MAX;
}

static void print_group(struct json_out *json, const struct json_group *group)
{
	json_out_mean(json, &group->mean, group->parameters, group->bytes);
}

static void print_name(struct json_out *json, const char *name)
{
	fputs(",\"", json->out);
	fputs(name, json->out);
	fputs("\":", json->out);
}

static void print_text_member(struct json_out *json, const char *name, const char *text)
{
	print_name(json, name);
	json_out_text(json, text);
}

/* Print "name":true or false, or null if no mount knows the value. */
static void print_flag(struct json_out *json, const char *name, bool known, bool value)
{
	print_name(json, name);
	fputs(!known ? "null" : value ? "true" : "false", json->out);
}

/* ## the model */

static void print_base(struct json_out *json, const struct model *model)
{
	if (!model) {
		fputs(",\"size\":null,\"base\":null", json->out);
		return;
	}
	fprintf(json->out, ",\"size\":%" PRIu64, model->gguf->size);
	print_text_member(json, "base", backing_path(model->base));
}

static void count_changes(struct json_out *json, const struct figures *figures)
{
	size_t added = 0;

	for (size_t i = 0; i < figures->n; i++)
		added += figure_is(&figures->figures[i], FIGURE_ADDED);
	if (figures->model)
		fprintf(json->out, ",\"added\":%zu,\"removed\":%zu", added, figures->n_removed);
	else
		fputs(",\"added\":null,\"removed\":null", json->out);
}

/* Number of tensors of the whole model, including missing shards. UINT64_MAX: unknown. */
static uint64_t count_whole(const struct figures *figures)
{
	const struct model *model = figures->model;

	if (!model || model->whole)
		return figures->total ? figures->total : figures->n;
	return shards_tensor_total(model->shards) ? shards_tensor_total(model->shards) : UINT64_MAX;
}

static void print_model(struct json_out *json, const struct figures *figures)
{
	struct json_group all = { 0 };
	struct card card;

	card_get(figures, &card);
	for (size_t i = 0; i < figures->n; i++)
		group_add(&all, &figures->figures[i]);
	fputs("\"model\":{\"name\":", json->out);
	json_out_text(json, card.name);
	print_text_member(json, "architecture", card.architecture);
	print_base(json, figures->model);
	print_text_member(json, "layer", figures->layer);
	fprintf(json->out, ",\"tensors\":%zu,\"tensors_total\":", figures->n);
	json_out_unsigned(json, count_whole(figures), UINT64_MAX);
	fprintf(json->out, ",\"parameters\":%" PRIu64 ",\"bytes\":", all.parameters);
	json_out_unsigned(json, all.bytes, UINT64_MAX);
	fprintf(json->out, ",\"grafts\":%" PRIu32, figures->grafts);
	count_changes(json, figures);
	fputs("},\n\"theta\":", json->out);
	print_group(json, &all);
}

/* ## classes, kinds, roles */

/* Print a key of an object, on a line of its own. */
static void print_key(struct json_out *json, const char *key, bool *first)
{
	fputs(*first ? "\n  " : ",\n  ", json->out);
	json_out_text(json, key);
	fputc(':', json->out);
	*first = false;
}

static void print_classes(struct json_out *json, const struct figures *figures)
{
	struct json_group groups[CLASSES] = { 0 };
	bool first = true;

	for (size_t i = 0; i < figures->n; i++)
		group_add(&groups[figures->figures[i].klass], &figures->figures[i]);
	fputs(",\n\"classes\":{", json->out);
	for (enum organ_class klass = 0; klass < CLASSES; klass++)
		if (groups[klass].mean.tensors) {
			print_key(json, class_name(klass), &first);
			print_group(json, &groups[klass]);
		}
	fputs("\n}", json->out);
}

static void print_kinds(struct json_out *json, const struct figures *figures)
{
	struct json_group groups[KINDS] = { 0 };
	bool first = true;

	for (size_t i = 0; i < figures->n; i++)
		group_add(&groups[figures->figures[i].kind], &figures->figures[i]);
	fputs(",\n\"kinds\":{", json->out);
	for (enum tensor_kind kind = 0; kind < KINDS; kind++)
		if (groups[kind].mean.tensors) {
			print_key(json, kind_name(kind), &first);
			print_group(json, &groups[kind]);
		}
	fputs("\n}", json->out);
}

static int compare_roles(const void *a, const void *b)
{
	const struct figure *const *x = a, *const *y = b;
	const int order = strcmp((*x)->role, (*y)->role);

	/* A fixed order of summation gives the same sum of θ each time. */
	return order ? order : (*x > *y) - (*x < *y);
}

static void print_roles(struct json_out *json, const struct figures *figures)
{
	const struct figure **sorted = calloc(figures->n + 1, sizeof(const struct figure *));
	bool first = true;

	json->failed |= !sorted;
	for (size_t i = 0; sorted && i < figures->n; i++)
		sorted[i] = &figures->figures[i];
	if (sorted)
		qsort(sorted, figures->n, sizeof(*sorted), compare_roles);
	fputs(",\n\"roles\":{", json->out);
	for (size_t i = 0, end; sorted && i < figures->n; i = end) {
		struct json_group group = { 0 };

		for (end = i; end < figures->n && strcmp(sorted[end]->role, sorted[i]->role) == 0;
		     end++)
			group_add(&group, sorted[end]);
		print_key(json, sorted[i]->role, &first);
		print_group(json, &group);
	}
	fputs("\n}", json->out);
	free(sorted);
}

/* ## tensors */

/* Print the donor of a graft, as far as known. */
static void print_donor(struct json_out *json, const struct donor *donor)
{
	const char *fingerprint = donor ? donor_fingerprint(donor) : "", *tensor = NULL;
	size_t n = 0;

	if (donor)
		tensor = donor_tensor(donor, &n);
	print_text_member(json, "file", donor ? donor_path(donor) : NULL);
	print_text_member(json, "fingerprint", fingerprint[0] ? fingerprint : NULL);
	fputs(",\"tensor\":", json->out);
	json_out_bytes(json, tensor, n);
	print_text_member(json, "view", donor ? donor_view(donor) : NULL);
}

static void print_graft(struct json_out *json, struct content *content)
{
	const struct content *own = content_own(content);
	char time[TIME_TEXT_MAX];

	fputs(",\"graft\":", json->out);
	if (!own) {
		fputs("null", json->out);
		return;
	}
	fputs("{\"how\":", json->out);
	json_out_text(json, content_kind_name(own));
	fputs(",\"organ\":", json->out);
	json_out_bytes(json, own->organ.name, own->organ.name_length);
	print_text_member(json, "time", time_text(&own->mtime, time));
	print_donor(json, own->donor);
	fputc('}', json->out);
}

/* Print the shape, numbers with an 'x' between them, as an array. */
static void print_shape(struct json_out *json, const char *shape)
{
	fputs(",\"shape\":[", json->out);
	for (; *shape; shape++)
		fputc(*shape == 'x' ? ',' : *shape, json->out);
	fputc(']', json->out);
}

/* Print name, place, type and size of a tensor, without the end of the object. */
static void print_place(struct json_out *json, const struct figure *figure)
{
	fputs("{\"tensor\":", json->out);
	json_out_bytes(json, figure->tensor, figure->tensor_length);
	print_text_member(json, "file", figure->file);
	print_text_member(json, "class", class_name(figure->klass));
	print_text_member(json, "kind", kind_name(figure->kind));
	print_text_member(json, "role", figure->role);
	if (figure->block < 0)
		fputs(",\"block\":null", json->out);
	else
		fprintf(json->out, ",\"block\":%" PRId32, figure->block);
	print_text_member(json, "type", figure->type);
	print_shape(json, figure->shape);
	fprintf(json->out, ",\"elements\":%" PRIu64 ",\"bytes\":", figure->elements);
	json_out_unsigned(json, figure->bytes, UINT64_MAX);
}

/* Print a tensor; unknown is the text of the figures of an unmeasured one. */
static void print_tensor(struct json_out *json, const struct figures *figures, size_t i,
			 const char *unknown)
{
	const struct figure *figure = &figures->figures[i];
	const bool known = figures->model != NULL;
	char cell[LAZY_TEXT_CELL_MAX];

	print_place(json, figure);
	print_flag(json, "grafted", known, figure_is(figure, FIGURE_GRAFTED));
	print_flag(json, "added", known, figure_is(figure, FIGURE_ADDED));
	print_flag(json, "converted", known, figure_is(figure, FIGURE_CONVERTED));
	print_flag(json, "merged", known, figure_is(figure, FIGURE_MERGED));
	print_graft(json, figures->subjects ? figures->subjects[i].content : NULL);
	if (figure->z)
		theta_json_figures(cell, sizeof(cell), figure->z);
	fputs(figure->z ? cell : unknown, json->out);
	fputc('}', json->out);
}

static void print_tensors(struct json_out *json, const struct figures *figures)
{
	char unknown[LAZY_TEXT_CELL_MAX];

	theta_json_figures(unknown, sizeof(unknown), NULL);
	fputs(",\n\"tensors\":[", json->out);
	for (size_t i = 0; i < figures->n; i++) {
		fputs(i ? ",\n  " : "\n  ", json->out);
		print_tensor(json, figures, i, unknown);
	}
	fputs("\n],\n\"removed\":", json->out);
	if (!figures->model) {
		fputs("null", json->out);
		return;
	}
	fputc('[', json->out);
	for (size_t i = 0; i < figures->n_removed; i++) {
		fputs(i ? ",\n  " : "\n  ", json->out);
		print_place(json, &figures->removed[i]);
		fputc('}', json->out);
	}
	fputs("\n]", json->out);
}

void report_json_begin(struct json_out *json)
{
	fprintf(json->out, "{\n\"organfs\":\"" ORGANFS_VERSION "\",\n\"format\":%d,\n",
		REPORT_JSON_FORMAT);
}

void report_json_summary(struct json_out *json, const struct figures *figures)
{
	print_model(json, figures);
	print_classes(json, figures);
	print_kinds(json, figures);
	print_roles(json, figures);
}

int report_json_print(const struct figures *figures, FILE *out)
{
	struct json_out json = { .out = out };

	report_json_begin(&json);
	report_json_summary(&json, figures);
	print_tensors(&json, figures);
	fputs("\n}\n", out);
	return json.failed ? -ENOMEM : 0;
}

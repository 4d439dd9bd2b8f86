/* SPDX-License-Identifier: MIT */
/* table_merge.c - see table_merge.h. */
#include "fs/report/table_merge.h"
#include "fs/lazy/figures.h"
#include "fs/report/card.h"
#include "fs/report/table_parse.h"
#include "fs/util/array_grown.h"
#include "gguf/arena.h"
#include "gguf/error.h"
#include "gguf/names.h"
#include "gguf/printable.h"
#include "gguf/types.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* A tensor: its line, and its place in the model's file. */
struct table_merge_tensor {
	const struct table_row *row;
	uint32_t shard;
	size_t order; /* place in its table */
};

struct table_merge_model {
	const char *name;
	const char *file; /* file of the model's first table */
	struct card card;
	uint64_t total; /* 0: unknown */
	uint32_t grafts;
	struct table_merge_tensor *tensors;
	size_t n, room;
	struct names *index; /* tensor names to numbers */
};

struct table_merge {
	struct table_merge_model **models;
	size_t n, room;
};

struct table_merge_input {
	struct table_merge_model *model;
	const char *file;
	const struct table_part *part;
	uint64_t *line;
	struct error *err;
	size_t added, changed;
};

struct table_merge *table_merge_new(void)
{
	return calloc(1, sizeof(struct table_merge));
}

void table_merge_free(struct table_merge *merge)
{
	if (!merge)
		return;
	for (size_t i = 0; i < merge->n; i++) {
		names_free(merge->models[i]->index);
		free(merge->models[i]->tensors);
		free(merge->models[i]);
	}
	free(merge->models);
	free(merge);
}

static int out_of_memory(const struct table_merge_input *m)
{
	return error_errno(m->err, ENOMEM);
}

/* Refuse a table that contradicts an earlier one of the same model. */
static int differs(const struct table_merge_input *m, const char *what)
{
	return error_set(m->err, EBADMSG, ERROR_NO_OFFSET,
			 "this is another model than the %s of %s: %s differs", m->model->name,
			 m->model->file, what);
}

/* The model of that name, made if there is none. NULL: out of memory. */
static struct table_merge_model *find_model(struct table_merge *merge, const char *name,
					    const char *file)
{
	struct table_merge_model *model, **models;
	size_t at = 0;

	while (at < merge->n && strcmp(merge->models[at]->name, name) < 0)
		at++;
	if (at < merge->n && strcmp(merge->models[at]->name, name) == 0)
		return merge->models[at];
	models = array_grown(merge->models, merge->n, &merge->room, sizeof(*models));
	if (!models)
		return NULL;
	merge->models = models;
	model = calloc(1, sizeof(*model));
	if (!model || !(model->index = names_new(64))) {
		free(model);
		return NULL;
	}
	model->name = name;
	model->file = file;
	memmove(&merge->models[at + 1], &merge->models[at],
		(merge->n++ - at) * sizeof(*merge->models));
	merge->models[at] = model;
	return model;
}

/* Take over a text if the model has none. False: it has another text. */
static bool take_text(char *text, const char *told, size_t size)
{
	if (text[0] == '\0')
		snprintf(text, size, "%s", told);
	return told[0] == '\0' || strcmp(text, told) == 0;
}

static bool same_bits(double a, double b)
{
	return memcmp(&a, &b, sizeof(a)) == 0;
}

static int take_facts(const struct table_merge_input *m)
{
	struct card *card = &m->model->card;
	const struct card *told = &m->part->card;

	if (!take_text(card->name, told->name, sizeof(card->name)))
		return differs(m, "name");
	if (!take_text(card->architecture, told->architecture, sizeof(card->architecture)))
		return differs(m, "architecture");
	if (!take_text(card->scaling, told->scaling, sizeof(card->scaling)))
		return differs(m, CARD_SCALING_KEY);
	for (enum card_count i = 0; i < CARD_COUNTS; i++) {
		struct card_range *mine = &card->counts[i];
		const struct card_range *range = &told->counts[i];

		if (range->known && !mine->known)
			*mine = *range;
		if (range->known && (range->low != mine->low || range->high != mine->high))
			return differs(m, card_count_key(i));
	}
	for (enum card_number i = 0; i < CARD_NUMBERS; i++) {
		struct card_value *mine = &card->numbers[i];
		const struct card_value *value = &told->numbers[i];

		if (value->known && !mine->known)
			*mine = *value;
		if (value->known && !same_bits(value->value, mine->value))
			return differs(m, card_number_key(i));
	}
	return 0;
}

static bool same_number(double a, double b)
{
	return same_bits(a, b) || (isnan(a) && isnan(b));
}

/* Whether the numbers agree; older tables lack the description of the values. */
static bool is_same_or_untold(double a, double b)
{
	return same_bits(a, b) || isnan(a) || isnan(b);
}

static bool same_measure(const struct table_row *a, const struct table_row *b)
{
	const struct zmeasure *x = &a->z, *y = &b->z;

	return a->known == b->known && x->status == y->status && x->sampled == y->sampled &&
	       x->nonfinite == y->nonfinite && x->low_n == y->low_n &&
	       same_number(x->theta, y->theta) && same_number(x->signal, y->signal) &&
	       same_number(x->entropy, y->entropy) && same_number(x->kurtosis, y->kurtosis) &&
	       same_number(x->spacing, y->spacing) && same_number(x->magnitude, y->magnitude) &&
	       is_same_or_untold(x->min, y->min) && is_same_or_untold(x->max, y->max) &&
	       is_same_or_untold(x->mean, y->mean) &&
	       is_same_or_untold(x->deviation, y->deviation) &&
	       is_same_or_untold(x->zeros, y->zeros);
}

static int add_tensor(struct table_merge_input *m, const struct table_row *row)
{
	struct table_merge_model *model = m->model;
	struct table_merge_tensor *tensors;

	tensors = array_grown(model->tensors, model->n, &model->room, sizeof(*tensors));
	if (!tensors)
		return out_of_memory(m);
	model->tensors = tensors;
	if (model->n == UINT32_MAX ||
	    names_add(model->index, row->tensor, row->tensor_length, (uint32_t)model->n) < 0)
		return out_of_memory(m);
	model->tensors[model->n++] =
		(struct table_merge_tensor){ row, row->shard, (size_t)(row - m->part->rows) };
	m->added++;
	return 0;
}

static int take_row(struct table_merge_input *m, const struct table_row *row)
{
	struct table_merge_model *model = m->model;
	const size_t order = (size_t)(row - m->part->rows);
	struct table_merge_tensor *known;
	uint32_t i;

	*m->line = row->line;
	if (!names_find(model->index, row->tensor, row->tensor_length, &i))
		return add_tensor(m, row);
	known = &model->tensors[i];
	if (strcmp(known->row->type, row->type) != 0 ||
	    strcmp(known->row->shape, row->shape) != 0 || known->row->klass != row->klass)
		return differs(m, "the type or the shape of this tensor");
	m->changed += !same_measure(known->row, row);
	known->row = row;
	/* A tensor keeps the lowest of its places. If one table has the model as one file and
	 * another a shard of it, that is the place in the file, as for all tensors. */
	if (row->shard < known->shard || (row->shard == known->shard && order < known->order)) {
		known->shard = row->shard;
		known->order = order;
	}
	return 0;
}

static int take_part(struct table_merge_input *m)
{
	struct table_merge_model *model = m->model;
	const struct table_part *part = m->part;
	int rc = take_facts(m);

	if (rc < 0)
		return rc;
	if (part->total && !model->total)
		model->total = part->total;
	if (part->total && part->total != model->total)
		return differs(m, "the number of its tensors");
	for (size_t i = 0; rc == 0 && i < part->n; i++)
		rc = take_row(m, &part->rows[i]);
	if (rc < 0)
		return rc;
	*m->line = part->line;
	if (model->total && model->n > model->total)
		return error_set(m->err, EBADMSG, ERROR_NO_OFFSET,
				 "with this table %s has more than its %" PRIu64 " tensors",
				 model->name, model->total);
	/* A table without new tensors repeats known grafts. */
	if (m->added || !part->n)
		model->grafts += part->grafts;
	return 0;
}

static int report_changed(struct table_merge_input *m, FILE *said)
{
	char *line;

	if (asprintf(&line,
		     "%s:%" PRIu64 ": %s: %zu tensor%s measured otherwise before; "
		     "the measures of this table are used",
		     m->file, m->part->line, m->model->name, m->changed,
		     m->changed == 1 ? " was" : "s were") < 0)
		return out_of_memory(m);
	make_printable(line);
	fprintf(said, "%s\n", line);
	free(line);
	return 0;
}

int table_merge_add(struct table_merge *merge, const struct table *table, const char *file,
		    FILE *said, uint64_t *line, struct error *err)
{
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < table->n; i++) {
		struct table_merge_input m = {
			.file = file, .part = &table->parts[i], .line = line, .err = err
		};

		*line = m.part->line;
		m.model = find_model(merge, m.part->model, file);
		rc = m.model ? take_part(&m) : out_of_memory(&m);
		if (rc == 0 && m.changed)
			rc = report_changed(&m, said);
	}
	return rc;
}

size_t table_merge_models(const struct table_merge *merge)
{
	return merge->n;
}

const char *table_merge_name(const struct table_merge *merge, size_t i)
{
	return merge->models[i]->name;
}

/* Number of tensors of the whole model if some are missing, else 0. */
static uint64_t missing_of(const struct table_merge_model *model)
{
	return model->n < model->total ? model->total : 0;
}

static int compare_places(const void *a, const void *b)
{
	const struct table_merge_tensor *x = a, *y = b;

	if (x->shard != y->shard)
		return x->shard < y->shard ? -1 : 1;
	if (x->order != y->order)
		return x->order < y->order ? -1 : 1;
	return strcmp(x->row->tensor, y->row->tensor);
}

void table_merge_finish(struct table_merge *merge)
{
	for (size_t i = 0; i < merge->n; i++) {
		struct table_merge_model *model = merge->models[i];

		if (model->n)
			qsort(model->tensors, model->n, sizeof(*model->tensors), compare_places);
		if (model->card.name[0] == '\0')
			snprintf(model->card.name, sizeof(model->card.name), "%s", model->name);
	}
}

static const struct zmeasure *measure_of(const struct table_row *row)
{
	return row->known ? &row->z : NULL;
}

/* Bytes of that many values of a type. UINT64_MAX: unknown. */
static uint64_t bytes_of(const char *type, uint64_t elements)
{
	const uint64_t ne[GGML_AXES] = { elements, 1, 1, 1 };
	uint64_t bytes;

	for (uint32_t id = 0; id < TYPE_IDS; id++)
		if (type_find(id) && strcmp(type_find(id)->name, type) == 0 &&
		    type_size(id, ne, &bytes) == TYPE_SIZE_OK)
			return bytes;
	return UINT64_MAX;
}

static bool fill(struct figures *figures, const struct table_row *row)
{
	char role[ANATOMY_NAME_MAX + 1];
	const char *copy;

	anatomy_role(row->tensor, row->tensor_length, role);
	copy = arena_copy(figures->arena, role, strlen(role));
	figures->figures[figures->n++] = (struct figure){
		.file = row->file,
		.tensor = row->tensor,
		.tensor_length = row->tensor_length,
		.role = copy,
		.type = row->type,
		.shape = row->shape,
		.klass = row->klass,
		.kind = anatomy_kind(row->tensor, row->tensor_length),
		.block = row->block,
		.elements = row->elements,
		.bytes = bytes_of(row->type, row->elements),
		.z = measure_of(row),
	};
	return copy != NULL;
}

struct figures *table_merge_figures(const struct table_merge *merge, size_t i)
{
	const struct table_merge_model *model = merge->models[i];
	struct figures *figures = calloc(1, sizeof(*figures));
	bool well;

	if (!figures)
		return NULL;
	figures->card = &model->card;
	figures->grafts = model->grafts;
	figures->total = missing_of(model);
	figures->figures = calloc(model->n + 1, sizeof(*figures->figures));
	figures->arena = arena_new();
	well = figures->figures && figures->arena;
	for (size_t k = 0; well && k < model->n; k++)
		well = fill(figures, model->tensors[k].row);
	if (well)
		return figures;
	figures_free(figures);
	return NULL;
}

struct ranked table_merge_ranked(const struct table_merge *merge, size_t i)
{
	const struct table_merge_model *model = merge->models[i];
	struct ranked ranked = { .name = model->name, .total = missing_of(model) };

	for (size_t k = 0; k < model->n; k++) {
		const struct table_row *row = model->tensors[k].row;

		ranking_count(&ranked, row->klass, row->elements,
			      ranked.total ? NULL : measure_of(row));
	}
	return ranked;
}

/* SPDX-License-Identifier: MIT */
/* table.c - see table.h. */
#include "fs/report/table.h"
#include "fs/base/shards.h"
#include "fs/lazy/memo.h"
#include "fs/model/model.h"
#include "fs/report/card.h"
#include "fs/report/table_field.h"
#include "fs/util/text_escape.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct table_printing {
	struct model *model;
	const struct snapshot *snapshot;
	FILE *out;
	const char *name;
	uint32_t tensors;
	uint64_t total; /* 0: unknown */
};

/* Number of the shard that has a slot, from 1; the last shard for an added slot. */
static uint32_t shard_of(const struct table_printing *p, const struct organ_place *place)
{
	const struct shards *shards = p->model->shards;
	uint32_t no;

	if (!shards || shards_are_organs(shards))
		return 1;
	if (shards_find_tensor(shards, place->tensor, place->tensor_length, &no))
		return no + 1;
	return shards_count(shards);
}

static void print_name(const struct table_printing *p)
{
	fputc('\t', p->out);
	text_escape_print(p->name, strlen(p->name), TABLE_ENCODED, p->out);
}

static void print_head(const struct table_printing *p)
{
	fputs("# organfs " ORGANFS_VERSION ", input of organfs --report\n"
	      "# "
	      "tensor\tmodel\ttensor\tshard\tclass\tblock\tfile\ttype\tshape\telements"
	      "\t" THETA_EXACT "\n",
	      p->out);
	fprintf(p->out, "table\t%u", TABLE_FORMAT);
	print_name(p);
	fprintf(p->out, "\t%" PRIu32, p->tensors);
	if (p->total)
		fprintf(p->out, "\t%" PRIu64, p->total);
	else
		fputs("\t-", p->out);
	fprintf(p->out, "\t%" PRIu32 "\n", p->snapshot->grafts);
}

static void print_text(const char *key, const char *text, FILE *out)
{
	if (text[0] == '\0')
		return;
	fprintf(out, "fact\t%s\t", key);
	text_escape_print(text, strlen(text), TABLE_ENCODED, out);
	fputc('\n', out);
}

static void print_facts(const struct table_printing *p)
{
	struct card card;

	card_read(p->model, p->snapshot->edits, &card);
	print_text("name", card.name, p->out);
	print_text("architecture", card.architecture, p->out);
	print_text(CARD_SCALING_KEY, card.scaling, p->out);
	for (enum card_count i = 0; i < CARD_COUNTS; i++)
		if (card.counts[i].known)
			fprintf(p->out, "fact\t%s\t%" PRIu64 "\t%" PRIu64 "\n", card_count_key(i),
				card.counts[i].low, card.counts[i].high);
	for (enum card_number i = 0; i < CARD_NUMBERS; i++)
		if (card.numbers[i].known)
			fprintf(p->out, "fact\t%s\t%.17g\n", card_number_key(i),
				card.numbers[i].value);
}

static void print_tensor(const struct table_printing *p, uint32_t i, const struct content *content)
{
	const struct organ_place *place = &p->model->places[i];
	const struct organ organ = model_organ(p->model, i, content);
	char path[ORGAN_PATH_MAX], scratch[TYPE_NAME_MAX], shape[SHAPE_TEXT_MAX];
	uint64_t elements = 0;

	shape_elements(organ.ne, &elements);
	fputs("tensor", p->out);
	print_name(p);
	fputc('\t', p->out);
	text_escape_print(place->tensor, place->tensor_length, TABLE_ENCODED, p->out);
	fprintf(p->out, "\t%" PRIu32 "\t%s\t", shard_of(p, place), class_name(place->klass));
	if (place->block < 0)
		fputc('-', p->out);
	else
		fprintf(p->out, "%" PRId32, place->block);
	fprintf(p->out, "\t%s\t%s\t%s\t%" PRIu64 "\t", model_organ_path(p->model, i, path),
		type_name(organ.type, scratch), shape_text(organ.ne, organ.dims, shape), elements);
}

static void print_all(struct table_printing *p, struct lazy_text *cells)
{
	const struct snapshot *snapshot = p->snapshot;
	uint32_t *order = model_order(p->model, snapshot->n);

	if (!order)
		lazy_text_fail(cells);
	for (uint32_t i = 0; i < snapshot->n; i++)
		p->tensors += !content_is_whiteout(snapshot->content[i]);
	p->total = p->model->whole ? p->tensors : shards_tensor_total(p->model->shards);
	print_head(p);
	print_facts(p);
	for (uint32_t k = 0; order && k < snapshot->n; k++) {
		const struct subject subject = { order[k], snapshot->content[order[k]] };

		if (content_is_whiteout(subject.content))
			continue;
		print_tensor(p, subject.tensor, subject.content);
		lazy_text_add(cells, &subject, theta_exact);
	}
	free(order);
	fputs("end", p->out);
	print_name(p);
	fprintf(p->out, "\t%" PRIu32 "\n", p->tensors);
}

struct view *table_view(struct model *model, struct memo *measures, const struct snapshot *snapshot)
{
	struct lazy_text *cells = lazy_text_new(measures);
	struct table_printing p = { .model = model, .snapshot = snapshot };

	if (!cells)
		return NULL;
	p.out = lazy_text_stream(cells);
	p.name = model->shown ? model->shown : model->name;
	print_all(&p, cells);
	return lazy_text_view(cells);
}

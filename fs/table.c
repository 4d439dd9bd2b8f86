/* SPDX-License-Identifier: MIT */
/* table.c - see table.h. */
#include "fs/table.h"
#include "fs/card_read.h"
#include "fs/paths.h"
#include "fs/table_field.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct printing {
	struct model *model;
	const struct snapshot *snapshot;
	FILE *out;
	char *name;
	uint32_t shard, tensors;
	uint64_t total; /* 0: not known */
};

static uint64_t split_number(const struct model *model, const char *key, uint64_t otherwise)
{
	const struct kv *kv = gguf_find(model->gguf, key);
	uint64_t value;

	return kv && kv_unsigned(kv, &value) ? value : otherwise;
}

/* The name without the suffix of a shard, to free. */
static char *whole_name(const char *name)
{
	char *file;
	size_t n;

	if (asprintf(&file, "%s.gguf", name) < 0)
		return NULL;
	n = paths_shard_prefix(file);
	file[n ? n : strlen(name)] = '\0';
	return file;
}

/* Which part of its model this is. */
static void find_place(struct printing *p)
{
	const uint64_t shards = split_number(p->model, "split.count", 1);
	const uint64_t total = split_number(p->model, "split.tensors.count", 0);

	p->shard = 1;
	p->total = p->tensors;
	if (shards > 1 && shards <= UINT16_MAX && total != p->model->gguf->n_tensors) {
		p->shard = (uint32_t)(split_number(p->model, "split.no", 0) % shards) + 1;
		p->total = total;
	}
}

static void print_name(const struct printing *p)
{
	fputc('\t', p->out);
	table_put(p->name, strlen(p->name), p->out);
}

static void print_head(const struct printing *p)
{
	fputs("# organfs " ORGANFS_VERSION ", what organfs --report reads\n"
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
	table_put(text, strlen(text), out);
	fputc('\n', out);
}

static void print_facts(const struct printing *p)
{
	struct card card;
	char *name;

	card_read(p->model, p->snapshot->edits, &card);
	name = whole_name(card.name);
	print_text("name", name ? name : card.name, p->out);
	free(name);
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

static void print_tensor(const struct printing *p, uint32_t i, const struct content *content)
{
	const struct organ_place *place = &p->model->places[i];
	const struct organ organ = model_organ(p->model, i, content);
	char path[ORGAN_PATH_MAX], scratch[TYPE_NAME_MAX], shape[SHAPE_TEXT_MAX];
	uint64_t elements = 0;

	shape_elements(organ.ne, &elements);
	fputs("tensor", p->out);
	print_name(p);
	fputc('\t', p->out);
	table_put(place->tensor, place->tensor_length, p->out);
	fprintf(p->out, "\t%" PRIu32 "\t%s\t", p->shard, class_name(place->klass));
	if (place->block < 0)
		fputc('-', p->out);
	else
		fprintf(p->out, "%" PRId32, place->block);
	fprintf(p->out, "\t%s\t%s\t%s\t%" PRIu64 "\t", model_organ_path(p->model, i, path),
		type_name(organ.type, scratch), shape_text(organ.ne, organ.dims, shape), elements);
}

static void print_all(struct printing *p, struct cells *cells)
{
	const struct snapshot *snapshot = p->snapshot;

	for (uint32_t i = 0; i < snapshot->n; i++)
		p->tensors += !content_is_nothing(snapshot->content[i]);
	find_place(p);
	print_head(p);
	print_facts(p);
	for (uint32_t i = 0; i < snapshot->n; i++) {
		if (content_is_nothing(snapshot->content[i]))
			continue;
		print_tensor(p, i, snapshot->content[i]);
		cells_add(cells, &(struct subject){ i, snapshot->content[i] }, theta_exact);
	}
	fputs("end", p->out);
	print_name(p);
	fprintf(p->out, "\t%" PRIu32 "\n", p->tensors);
}

struct view *table_view(struct model *model, struct readings *readings,
			const struct snapshot *snapshot)
{
	struct cells *cells = cells_new(readings);
	struct printing p = { .model = model, .snapshot = snapshot };

	if (!cells)
		return NULL;
	p.out = cells_text(cells);
	p.name = whole_name(model->shown ? model->shown : model->name);
	if (p.name)
		print_all(&p, cells);
	else
		cells_fail(cells);
	free(p.name);
	return cells_view(cells);
}

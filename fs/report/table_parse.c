/* SPDX-License-Identifier: MIT */
/* table_parse.c - see table_parse.h. */
#include "fs/report/table_parse.h"
#include "fs/model/model.h"
#include "fs/report/table.h"
#include "fs/report/table_field.h"
#include "fs/util/array_grown.h"
#include "gguf/error.h"
#include "gguf/printable.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* One more than any line has. */
#define FIELDS_MAX (TABLE_TENSOR_FIELDS + THETA_EXACT_COLUMNS + 1)

/* Limit of tensors, more than any model has, to exclude overflows. */
#define TENSORS_MAX UINT32_MAX

struct parsing {
	struct table *table;
	struct table_part *part; /* the current table; NULL: none */
	const char *raw_model;	 /* its name, still encoded */
	uint64_t line;
	char *fields[FIELDS_MAX];
	size_t n; /* number of fields in the line */
	struct error *err;
};

static int bad(struct parsing *p, const char *what)
{
	return error_set(p->err, EBADMSG, ERROR_NO_OFFSET, "%s", what);
}

static int out_of_memory(struct parsing *p)
{
	return error_errno(p->err, ENOMEM);
}

static bool is_printable(const char *text, size_t most)
{
	const size_t n = strlen(text);

	for (size_t i = 0; i < n; i++)
		if (text[i] <= ' ' || text[i] > '~')
			return false;
	return n > 0 && n <= most;
}

static int begin_part(struct parsing *p)
{
	struct table *table = p->table;
	struct table_part part = { .line = p->line }, *parts;
	uint64_t format, grafts;
	size_t n;

	if (p->part)
		return bad(p, "a table begins before the one above it has ended");
	if (p->n < 2 || !table_unsigned(p->fields[1], UINT64_MAX, &format))
		return bad(p, "invalid first line of a table");
	if (format != TABLE_FORMAT)
		return error_set(p->err, EBADMSG, ERROR_NO_OFFSET,
				 "this table has format %" PRIu64
				 ", and this organfs knows only %u: use a newer organfs",
				 format, TABLE_FORMAT);
	if (p->n != 6 || !table_unsigned(p->fields[3], TENSORS_MAX, &part.tensors) ||
	    (strcmp(p->fields[4], "-") != 0 &&
	     !table_unsigned(p->fields[4], TENSORS_MAX, &part.total)) ||
	    !table_unsigned(p->fields[5], UINT32_MAX, &grafts))
		return bad(p, "invalid first line of a table");
	part.grafts = (uint32_t)grafts;
	p->raw_model = strdup(p->fields[2]);
	parts = array_grown(table->parts, table->n, &table->room, sizeof(part));
	table->parts = parts ? parts : table->parts;
	if (!p->raw_model || !parts)
		return out_of_memory(p);
	if (!table_get(p->fields[2], &n) || n == 0 || strlen(p->fields[2]) != n)
		return bad(p, "invalid model name");
	make_printable(p->fields[2]);
	part.model = p->fields[2];
	p->part = &table->parts[table->n++];
	*p->part = part;
	return 0;
}

static int end_part(struct parsing *p)
{
	uint64_t tensors;

	if (!p->part || p->n != 3 || strcmp(p->fields[1], p->raw_model) != 0 ||
	    !table_unsigned(p->fields[2], TENSORS_MAX, &tensors))
		return bad(p, "an end of a table that has not begun");
	if (tensors != p->part->n || p->part->tensors != p->part->n)
		return error_set(p->err, EBADMSG, ERROR_NO_OFFSET,
				 "this table has %zu tensors, but announces %" PRIu64, p->part->n,
				 p->part->tensors);
	free((char *)p->raw_model);
	p->raw_model = NULL;
	p->part = NULL;
	return 0;
}

static int take_text(struct parsing *p, char *text, size_t size)
{
	size_t n;

	if (p->n != 3 || !table_get(p->fields[2], &n) || n >= size || n == 0)
		return bad(p, "this fact is not text, or too long");
	snprintf(text, size, "%s", p->fields[2]);
	make_printable(text);
	return 0;
}

static int take_count(struct parsing *p, struct card_range *range)
{
	if (p->n != 4 || !table_unsigned(p->fields[2], UINT64_MAX, &range->low) ||
	    !table_unsigned(p->fields[3], UINT64_MAX, &range->high) || range->low > range->high)
		return bad(p, "this fact is not two numbers");
	range->known = true;
	return 0;
}

static int take_fact(struct parsing *p)
{
	struct card *card = p->part ? &p->part->card : NULL;
	const char *key = p->fields[1];

	if (!card || p->n < 2)
		return bad(p, "a fact outside of a table");
	if (strcmp(key, "name") == 0)
		return take_text(p, card->name, sizeof(card->name));
	if (strcmp(key, "architecture") == 0)
		return take_text(p, card->architecture, sizeof(card->architecture));
	if (strcmp(key, CARD_SCALING_KEY) == 0)
		return take_text(p, card->scaling, sizeof(card->scaling));
	for (enum card_count i = 0; i < CARD_COUNTS; i++)
		if (strcmp(key, card_count_key(i)) == 0)
			return take_count(p, &card->counts[i]);
	for (enum card_number i = 0; i < CARD_NUMBERS; i++) {
		if (strcmp(key, card_number_key(i)) != 0)
			continue;
		if (p->n != 3 || !table_real(p->fields[2], &card->numbers[i].value))
			return bad(p, "this fact is not a number");
		card->numbers[i].known = true;
	}
	/* Ignore the facts of later versions. */
	return 0;
}

/* Parse the fields between the first two and the measure. */
static int take_place(struct parsing *p, struct table_row *row)
{
	char **fields = p->fields;
	uint64_t shard, block = 0, elements;
	size_t n;

	if (!table_get(fields[2], &n) || n > UINT32_MAX)
		return bad(p, "invalid tensor name");
	row->tensor = fields[2];
	row->tensor_length = (uint32_t)n;
	if (!table_unsigned(fields[3], UINT16_MAX, &shard) || shard == 0)
		return bad(p, "invalid shard number");
	row->shard = (uint32_t)shard;
	if (!class_find(fields[4], strlen(fields[4]), &row->klass))
		return bad(p, "unknown class");
	row->block = -1;
	if (strcmp(fields[5], "-") != 0) {
		if (!table_unsigned(fields[5], INT32_MAX, &block))
			return bad(p, "invalid block number");
		row->block = (int32_t)block;
	}
	if (!is_printable(fields[6], ORGAN_PATH_MAX) || !is_printable(fields[7], TYPE_NAME_MAX))
		return bad(p, "invalid file or type name");
	if (!table_shape(fields[8], &elements) ||
	    !table_unsigned(fields[9], UINT64_MAX, &row->elements) || row->elements != elements)
		return bad(p, "invalid shape, or another number of elements");
	row->file = fields[6];
	row->type = fields[7];
	row->shape = fields[8];
	return 0;
}

static int take_tensor(struct parsing *p)
{
	struct table_part *part = p->part;
	struct table_row row = { .line = p->line }, *rows;

	if (!part)
		return bad(p, "a tensor outside of a table");
	if (p->n != TABLE_TENSOR_FIELDS + THETA_EXACT_COLUMNS &&
	    p->n != TABLE_TENSOR_FIELDS + THETA_EXACT_FIRST_COLUMNS)
		return error_set(p->err, EBADMSG, ERROR_NO_OFFSET,
				 "a tensor has %d fields, and this line %zu",
				 TABLE_TENSOR_FIELDS + THETA_EXACT_COLUMNS, p->n);
	if (strcmp(p->fields[1], p->raw_model) != 0)
		return bad(p, "a tensor of another model than the table's");
	if (take_place(p, &row) < 0)
		return -EBADMSG;
	if (!table_measure(p->fields + TABLE_TENSOR_FIELDS, p->n - TABLE_TENSOR_FIELDS, &row.z,
			   &row.known))
		return bad(p, "invalid measures of a tensor");
	rows = array_grown(part->rows, part->n, &part->room, sizeof(row));
	if (!rows)
		return out_of_memory(p);
	part->rows = rows;
	part->rows[part->n++] = row;
	return 0;
}

static int take_line(struct parsing *p, char *line, size_t n)
{
	static const struct {
		const char *word;
		int (*take)(struct parsing *p);
	} words[] = { { "table", begin_part },
		      { "fact", take_fact },
		      { "tensor", take_tensor },
		      { "end", end_part } };

	if (strlen(line) != n)
		return bad(p, "a NUL in the line, which no table has");
	if (n == 0 || line[0] == '#')
		return 0;
	p->n = 0;
	while (line && p->n < FIELDS_MAX)
		p->fields[p->n++] = strsep(&line, "\t");
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (strcmp(p->fields[0], words[i].word) == 0)
			return words[i].take(p);
	return bad(p, "not a line of a .table file");
}

static int take_lines(struct parsing *p, char *text, size_t size)
{
	int rc = 0;

	for (size_t at = 0; rc == 0 && at < size;) {
		char *newline = memchr(text + at, '\n', size - at);
		size_t n;

		p->line++;
		if (!newline)
			return bad(p, "the file ends within this line");
		*newline = '\0';
		n = (size_t)(newline - (text + at));
		rc = take_line(p, text + at, n);
		at += n + 1;
	}
	if (rc == 0 && p->part)
		return error_set(p->err, EBADMSG, ERROR_NO_OFFSET,
				 "the file ends within the table that begins in line %" PRIu64,
				 p->part->line);
	if (rc == 0 && p->table->n == 0)
		return bad(p, "there is no table of organfs in this file");
	return rc;
}

int table_parse(struct table *table, char *text, size_t size, uint64_t *line, struct error *err)
{
	struct parsing p = { .table = table, .err = err };
	int rc;

	*table = (struct table){ .text = text };
	rc = take_lines(&p, text, size);
	free((char *)p.raw_model);
	*line = p.line ? p.line : 1;
	return rc;
}

void table_release(struct table *table)
{
	for (size_t i = 0; i < table->n; i++)
		free(table->parts[i].rows);
	free(table->parts);
	free(table->text);
	*table = (struct table){ .text = NULL };
}

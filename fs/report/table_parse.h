/* SPDX-License-Identifier: MIT */
/* table_parse.h - parser for a file of tables (table.h). Opens no file, and trusts no text. */
#ifndef FS_REPORT_TABLE_PARSE_H
#define FS_REPORT_TABLE_PARSE_H

#include "fs/report/card.h"
#include "gguf/anatomy.h"
#include "measure/zmeasure.h"

struct error;

/* A "tensor" line. */
struct table_row {
	uint64_t line;	    /* line number in the file, from 1 */
	const char *tensor; /* exact name; may contain NULs */
	uint32_t tensor_length, shard;
	enum organ_class klass;
	int32_t block;
	const char *file, *type, *shape; /* printable, of valid length */
	uint64_t elements;
	bool known; /* else its type has no values */
	struct zmeasure z;
};

/* A table. */
struct table_part {
	uint64_t line;
	const char *model;	 /* one line */
	uint64_t tensors, total; /* total: 0 if unknown */
	uint32_t grafts;
	struct card card;
	struct table_row *rows; /* one for each tensor */
	size_t n, room;
};

struct table {
	char *text; /* all texts point into it */
	struct table_part *parts;
	size_t n, room;
};

/* Parse size bytes of text, which are followed by a writable NUL. The allocated text becomes the
 * table's, also on failure. Returns 0, or -EBADMSG or -ENOMEM with err set, and in *line the line.
 * table_release() is due either way. */
int table_parse(struct table *table, char *text, size_t size, uint64_t *line, struct error *err);
void table_release(struct table *table);

#endif

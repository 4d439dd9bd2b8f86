/* SPDX-License-Identifier: MIT */
/* table_parse.h - a file of tables (table.h), read. Knows no mount and opens no file; nothing in
 * the text is trusted. */
#ifndef FS_REPORT_TABLE_PARSE_H
#define FS_REPORT_TABLE_PARSE_H

#include "fs/report/card.h"
#include "gguf/anatomy.h"
#include "measure/zmeasure.h"

struct error;

/* A line of a tensor. */
struct table_row {
	uint64_t line;	    /* of the file, from 1 on */
	const char *tensor; /* its exact name; may hold NULs */
	uint32_t tensor_length, shard;
	enum organ_class klass;
	int32_t block;
	const char *file, *type, *shape; /* printable, and as short as they can be */
	uint64_t elements;
	bool known; /* else its type holds no values */
	struct zmeasure z;
};

/* One table. */
struct table_part {
	uint64_t line;
	const char *model;	 /* of one line */
	uint64_t tensors, total; /* total: 0 where it is not known */
	uint32_t grafts;
	struct card card;
	struct table_row *rows; /* as many as tensors */
	size_t n, room;
};

struct table {
	char *text; /* in which all texts lie */
	struct table_part *parts;
	size_t n, room;
};

/* Parse size bytes of text, after which there is a NUL to write on; allocated, they become the
 * table's, also on failure. Returns 0, or -EBADMSG or -ENOMEM with err set, and in *line where.
 * table_release() is due either way. */
int table_parse(struct table *table, char *text, size_t size, uint64_t *line, struct error *err);
void table_release(struct table *table);

#endif

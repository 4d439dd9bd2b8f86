/* SPDX-License-Identifier: MIT */
/* table_text.h - texts of tables, for tests of their readers. */
#ifndef TESTS_UNIT_TABLE_TEXT_H
#define TESTS_UNIT_TABLE_TEXT_H

#include "fs/lazy/theta_text.h"
#include "fs/report/table_parse.h"
#include "tests/unit/measures.h"

/* The line of a tensor. */
struct mk_row {
	const char *tensor;
	double theta;
	uint32_t shard;
	const char *type; /* NULL: F32 */
};

/* Print a table of n tensors, each of one row of 8 elements. */
void mk_table(FILE *out, const char *model, const char *total, const char *facts,
	      const struct mk_row *rows, size_t n);

/* Text of such a table; caller frees. */
char *mk_table_text(const char *model, const char *total, const char *facts,
		    const struct mk_row *rows, size_t n, size_t *size);

#endif

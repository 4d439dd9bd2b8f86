/* SPDX-License-Identifier: MIT */
/* table_text.h - texts of tables for the tests of their readers. */
#ifndef TESTS_UNIT_TABLE_TEXT_H
#define TESTS_UNIT_TABLE_TEXT_H

#include "fs/lazy/theta_text.h"
#include "fs/report/table_parse.h"
#include "tests/unit/measures.h"

/* A tensor's line. */
struct mk_row {
	const char *tensor;
	double theta;
	uint32_t shard;
	const char *type; /* NULL: F32 */
};

/* A table of n tensors, each of a row of 8 elements, into out. */
void mk_table(FILE *out, const char *model, const char *total, const char *facts,
	      const struct mk_row *rows, size_t n);

/* The text of one, to free(). */
char *mk_table_text(const char *model, const char *total, const char *facts,
		    const struct mk_row *rows, size_t n, size_t *size);

#endif

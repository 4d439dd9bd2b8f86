/* SPDX-License-Identifier: MIT */
/* fs_tables.h - texts of tables for the tests of what reads them. */
#ifndef TESTS_UNIT_FS_TABLES_H
#define TESTS_UNIT_FS_TABLES_H

#include "fs/lazy/theta_text.h"
#include "fs/report/table_parse.h"
#include "tests/unit/fs_readings.h"

/* A tensor's line. */
struct mk_row {
	const char *tensor;
	double theta;
	uint32_t shard;
	const char *type; /* NULL: F32 */
};

/* A table of n tensors, each of a row of 8 elements, into out. */
static inline void mk_table(FILE *out, const char *model, const char *total, const char *facts,
			    const struct mk_row *rows, size_t n)
{
	fprintf(out, "# a remark\n\ntable\t1\t%s\t%zu\t%s\t0\n%s", model, n, total, facts);
	for (size_t i = 0; i < n; i++) {
		const struct zmeasure z = z_with(rows[i].theta);
		char cell[LAZY_TEXT_CELL_MAX];

		theta_exact(cell, sizeof(cell), &z);
		fprintf(out, "tensor\t%s\t%s\t%u\torgans\t%zu\torgans/%s.bin\t%s\t8\t8\t%s", model,
			rows[i].tensor, rows[i].shard, i, rows[i].tensor,
			rows[i].type ? rows[i].type : "F32", cell);
	}
	fprintf(out, "end\t%s\t%zu\n", model, n);
}

/* The text of one, to free(). */
static inline char *mk_table_text(const char *model, const char *total, const char *facts,
				  const struct mk_row *rows, size_t n, size_t *size)
{
	char *text = NULL;
	FILE *out = open_memstream(&text, size);

	must(out);
	mk_table(out, model, total, facts, rows, n);
	must(fclose(out) == 0);
	return text;
}

#endif

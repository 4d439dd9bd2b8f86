/* SPDX-License-Identifier: MIT */
/* table_text.c - see table_text.h. */
#include "tests/unit/table_text.h"

void mk_table(FILE *out, const char *model, const char *total, const char *facts,
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

char *mk_table_text(const char *model, const char *total, const char *facts,
		    const struct mk_row *rows, size_t n, size_t *size)
{
	char *text = NULL;
	FILE *out = open_memstream(&text, size);

	must(out);
	mk_table(out, model, total, facts, rows, n);
	must(fclose(out) == 0);
	return text;
}

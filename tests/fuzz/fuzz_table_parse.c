/* SPDX-License-Identifier: MIT */
/* fuzz_table_parse.c - any text as a file of tables: refused with the line, or read into tables
 * that make the same models whether the file is added alone or behind another. */
#include "fs/lazy/figures.h"
#include "fs/report/table_merge.h"
#include "fs/report/table_parse.h"
#include "fuzz_help.h"

#include <errno.h>
#include <string.h>

static bool parse(struct table *table, const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1);
	struct error err = { 0 };
	uint64_t line = 0;
	int rc;

	require(text != NULL);
	memcpy(text, data, size);
	rc = table_parse(table, text, size, &line, &err);
	require(rc == 0 || (err.code == EBADMSG && line > 0 && err.text[0]));
	return rc == 0;
}

static void check_rows(const struct table *table)
{
	for (size_t i = 0; i < table->n; i++) {
		require(table->parts[i].n == table->parts[i].tensors);
		for (size_t k = 0; k < table->parts[i].n; k++)
			require((unsigned)table->parts[i].rows[k].klass < CLASSES &&
				table->parts[i].rows[k].line > 0);
	}
}

static size_t merge(const struct table *tables, size_t n)
{
	struct table_merge *merge = table_merge_new();
	FILE *said = fopen("/dev/null", "w");
	struct error err = { 0 };
	uint64_t line = 0;
	size_t models;

	require(merge && said);
	for (size_t i = 0; i < n; i++)
		if (table_merge_add(merge, &tables[i], "file", said, &line, &err) < 0) {
			require(err.code == EBADMSG && err.text[0]);
			break;
		}
	table_merge_finish(merge);
	models = err.code ? SIZE_MAX : table_merge_models(merge);
	for (size_t i = 0; models != SIZE_MAX && i < models; i++) {
		struct figures *figures = table_merge_figures(merge, i);

		require(figures && table_merge_name(merge, i)[0]);
		require(table_merge_ranked(merge, i).name[0]);
		figures_free(figures);
	}
	fclose(said);
	table_merge_free(merge);
	return models;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct table tables[2];
	const bool good = parse(&tables[0], data, size);

	if (good) {
		require(parse(&tables[1], data, size));
		check_rows(&tables[0]);
		require(merge(tables, 1) == merge(tables, 2));
		table_release(&tables[1]);
	}
	table_release(&tables[0]);
	return 0;
}

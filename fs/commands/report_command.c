/* SPDX-License-Identifier: MIT */
/* report_command.c - see report_command.h. */
#include "fs/commands/report_command.h"
#include "fs/lazy/figures.h"
#include "fs/mount/options.h"
#include "fs/report/models_json.h"
#include "fs/report/report.h"
#include "fs/report/report_json.h"
#include "fs/report/table_merge.h"
#include "fs/report/table_parse.h"
#include "fs/util/io.h"
#include "fs/util/log.h"
#include "gguf/error.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int fail(const char *file, int rc)
{
	log_error("%s%s%s", file ? file : "", file ? ": " : "", strerror(-rc));
	return rc;
}

/* Is the file a model or a directory, for which a mount has the report? Says so on stderr. */
static bool is_model(int fd, const char *file)
{
	char magic[4];
	const ssize_t n = pread(fd, magic, sizeof(magic), 0);

	if (n < 0 && errno == EISDIR)
		log_error("%s: Is a directory; --report takes tables. The report of a mount is in "
			  "its files .theta and .report.json, its table in .table",
			  file);
	else if (n == sizeof(magic) && memcmp(magic, "GGUF", sizeof(magic)) == 0)
		log_error("%s: a model, not a table; mount it and read .theta or .report.json in "
			  "the mount (--report takes copies of .table)",
			  file);
	else
		return false;
	return true;
}

/* Read a file of tables and add them. Returns 0, or -1 after a line on stderr. */
static int take_file(struct table_merge *merge, const char *file, struct table *table)
{
	const int fd = open(file, O_RDONLY | O_CLOEXEC);
	struct error err = { 0 };
	uint64_t line;
	size_t size;
	char *text;
	int rc;

	if (fd < 0)
		return fail(file, -errno);
	if (is_model(fd, file)) {
		close(fd);
		return -1;
	}
	text = io_read_all(fd, &size);
	rc = text ? 0 : -errno;
	close(fd);
	if (!text)
		return fail(file, rc);
	rc = table_parse(table, text, size, &line, &err);
	if (rc == 0)
		rc = table_merge_add(merge, table, file, stderr, &line, &err);
	if (rc < 0)
		log_error("%s:%" PRIu64 ": %s", file, line, err.text);
	return rc;
}

static int print_models(const struct ranked *ranked, const struct figures *const *figures, size_t n,
			bool json, FILE *out)
{
	if (json)
		return models_json_print(figures, ranked, n, out);
	fputs("# organfs " ORGANFS_VERSION "\n", out);
	return ranking_print(ranked, n, out);
}

static int print_ranking(const struct table_merge *merge, bool json, FILE *out)
{
	const size_t n = table_merge_models(merge);
	struct ranked *ranked = calloc(n + 1, sizeof(*ranked));
	const struct figures **figures = calloc(n + 1, sizeof(*figures));
	int rc = ranked && figures ? 0 : -ENOMEM;

	for (size_t i = 0; rc == 0 && i < n; i++) {
		ranked[i] = table_merge_ranked(merge, i);
		figures[i] = table_merge_figures(merge, i);
		rc = figures[i] ? 0 : -ENOMEM;
	}
	if (rc == 0)
		rc = print_models(ranked, figures, n, json, out);
	for (size_t i = 0; figures && i < n; i++)
		figures_free((struct figures *)figures[i]);
	free(figures);
	free(ranked);
	return rc;
}

static int print_report(const struct table_merge *merge, size_t i, bool json, FILE *out)
{
	struct figures *figures = table_merge_figures(merge, i);
	int rc = -ENOMEM;

	if (figures)
		rc = json ? report_json_print(figures, out) : report_print(figures, out);
	figures_free(figures);
	return rc;
}

static int print(const struct table_merge *merge, const char *name, bool json, FILE *out)
{
	const size_t n = table_merge_models(merge);

	if (!name)
		return n == 1 ? print_report(merge, 0, json, out) : print_ranking(merge, json, out);
	for (size_t i = 0; i < n; i++)
		if (strcmp(table_merge_name(merge, i), name) == 0)
			return print_report(merge, i, json, out);
	log_error("the tables describe no model %s", name);
	return -ENOENT;
}

/* Print the whole text or none of it. */
static int print_whole(const struct table_merge *merge, const char *name, bool json)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);
	int rc = out ? print(merge, name, json, out) : -ENOMEM;

	if (out && fclose(out) != 0)
		rc = -ENOMEM;
	if (rc == 0 && (fwrite(text, 1, size, stdout) != size || fflush(stdout) != 0))
		rc = fail("standard output", -errno);
	else if (rc == -ENOMEM)
		fail(NULL, rc);
	free(text);
	return rc;
}

int report_command(const struct options *options)
{
	const uint32_t n = options->n_models;
	struct table *tables = calloc(n + 1u, sizeof(*tables));
	struct table_merge *merge = table_merge_new();
	int rc = tables && merge ? 0 : fail(NULL, -ENOMEM);

	for (uint32_t i = 0; rc == 0 && i < n; i++)
		rc = take_file(merge, options->models[i], &tables[i]);
	if (rc == 0) {
		table_merge_finish(merge);
		rc = print_whole(merge, options->report_model, options->json);
	}
	table_merge_free(merge);
	for (uint32_t i = 0; tables && i < n; i++)
		table_release(&tables[i]);
	free(tables);
	return rc < 0 ? 1 : 0;
}

/* SPDX-License-Identifier: MIT */
/* models_report.c - see models_report.h. */
#include "fs/tree/models_report.h"
#include "fs/lazy/figures.h"
#include "fs/lazy/whole_text.h"
#include "fs/report/ranking.h"
#include "gguf/printable.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* One model: what to measure, and its name as it is shown. */
struct models_report_entry {
	struct memo *measures;
	struct figures *figures;
	char *name;
};

struct models_report {
	uint32_t n;
	struct models_report_entry entrants[];
};

static void release(void *context)
{
	struct models_report *report = context;

	for (uint32_t i = 0; i < report->n; i++) {
		figures_free(report->entrants[i].figures);
		free(report->entrants[i].name);
	}
	free(report);
}

/* Add up a model, with measures unless halt is NULL. Returns 0, or -EINTR. */
static int add_up(const struct models_report_entry *entrant, const struct halt *halt,
		  struct ranked *ranked)
{
	const struct figures *figures = entrant->figures;

	*ranked = (struct ranked){ .name = entrant->name };
	for (size_t i = 0; i < figures->n; i++) {
		const struct figure *figure = &figures->figures[i];
		struct zmeasure z;
		int rc = -ENOTSUP;

		if (halt)
			rc = memo_get(entrant->measures, &figures->subjects[i], halt->reader, &z);
		if (rc == -EINTR)
			return rc;
		/* Part of a model is not to be compared with others. */
		if (rc < 0 && rc != -ENOTSUP)
			return add_up(entrant, NULL, ranked);
		ranking_count(ranked, figure->klass, figure->elements, rc == 0 ? &z : NULL);
	}
	return 0;
}

static int print(void *context, const struct halt *halt, FILE *out)
{
	const struct models_report *report = context;
	struct ranked *ranked = calloc(report->n + 1u, sizeof(*ranked));
	int rc = ranked ? 0 : -ENOMEM;

	for (uint32_t i = 0; halt && rc == 0 && i < report->n; i++) {
		const struct models_report_entry *entrant = &report->entrants[i];

		/* Another error is found again by add_up(), which leaves that model out. */
		if (memo_prepare(entrant->measures, entrant->figures->subjects, entrant->figures->n,
				 halt->reader) == -EINTR)
			rc = -EINTR;
	}
	for (uint32_t i = 0; rc == 0 && i < report->n; i++)
		rc = add_up(&report->entrants[i], halt, &ranked[i]);
	if (rc == 0) {
		fputs("# organfs " ORGANFS_VERSION "\n", out);
		rc = ranking_print(ranked, report->n, out);
	}
	free(ranked);
	return rc;
}

/* A file name may have line breaks in it. */
static char *one_line(const char *name)
{
	char *text = strdup(name);

	if (text)
		make_printable(text);
	return text;
}

static bool enter(struct models_report_entry *entrant, const struct model_files *mounted)
{
	struct snapshot snapshot;

	entrant->measures = mounted->measures;
	entrant->name = one_line(mounted->model->shown);
	if (!entrant->name || slots_snapshot(mounted->model->slots, &snapshot) < 0)
		return false;
	entrant->figures = figures_new(mounted->model, &snapshot);
	snapshot_release(&snapshot);
	return entrant->figures != NULL;
}

struct view *models_report_view(struct model_files *mounted, uint32_t n)
{
	static const struct whole_text_ops ops = { print, release };
	struct models_report *report = calloc(1, sizeof(*report) + n * sizeof(report->entrants[0]));
	bool well = report != NULL;

	for (uint32_t i = 0; well && i < n; i++) {
		report->n = i + 1;
		well = enter(&report->entrants[i], model_files_current(mounted, i));
	}
	if (well)
		return whole_text_view(whole_text_new(&ops, report, NULL));
	if (report)
		release(report);
	return NULL;
}

/* SPDX-License-Identifier: MIT */
/* models_root.c - see models_root.h. */
#include "fs/tree/models_root.h"
#include "fs/files/manifest.h"
#include "fs/lazy/figures.h"
#include "fs/lazy/whole_text.h"
#include "fs/model/slots.h"
#include "fs/report/models_json.h"
#include "fs/report/ranking.h"
#include "fs/storage/backing.h"
#include "fs/storage/view.h"
#include "fs/tree/generated.h"
#include "fs/tree/model_files.h"
#include "fs/util/halt.h"
#include "fs/util/log.h"
#include "gguf/names.h"
#include "gguf/printable.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct models_root {
	struct model_files *files;
	uint32_t n;
	struct log *log;
	struct names *names; /* directory name to model number */
	struct generated *generated;
};

static uint64_t stamp_of(void *context, enum generated_kind kind)
{
	const struct models_root *overview = context;
	uint64_t stamp = 0;

	if (kind == GENERATED_LOG)
		return log_count(overview->log);
	/* Generations only grow, so the sum changes whenever one does. */
	for (uint32_t i = 0; i < overview->n; i++)
		stamp += model_generation(model_files_current(overview->files, i)->model);
	return stamp;
}

/* One model: its figures, to be measured, and its shown name. */
struct ranked_model {
	struct memo *measures;
	struct figures *figures;
	char *name;
};

typedef int print_models_fn(const struct figures *const *figures, const struct ranked *ranked,
			    size_t n, FILE *out);

/* A report on the models, measured at each read. */
struct models_report {
	print_models_fn *print;
	uint32_t n;
	struct ranked_model entrants[];
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

static int print_ranking(const struct figures *const *figures, const struct ranked *ranked,
			 size_t n, FILE *out)
{
	(void)figures;
	fputs("# organfs " ORGANFS_VERSION "\n", out);
	return ranking_print(ranked, n, out);
}

static struct ranked add_up(const struct figures *figures, const char *name)
{
	struct ranked ranked = { .name = name };

	for (size_t i = 0; i < figures->n; i++)
		ranking_count(&ranked, figures->figures[i].klass, figures->figures[i].elements,
			      figures->figures[i].z);
	return ranked;
}

struct measured_models {
	uint32_t n;
	struct ranked *ranked;
	struct measured_figures *measured;
	const struct figures **figures; /* figures in measured */
};

static void release_measured(struct measured_models *models)
{
	for (uint32_t i = 0; i < models->n; i++)
		measured_figures_release(&models->measured[i]);
	free(models->figures);
	free(models->measured);
	free(models->ranked);
}

/* Collect the models' figures, measured unless halt is NULL. Call release_measured() in either
 * case. */
static int measure(const struct models_report *report, const struct halt *halt,
		   struct measured_models *models)
{
	int rc;

	models->ranked = calloc(report->n + 1u, sizeof(*models->ranked));
	models->measured = calloc(report->n + 1u, sizeof(*models->measured));
	models->figures = calloc(report->n + 1u, sizeof(*models->figures));
	rc = models->ranked && models->measured && models->figures ? 0 : -ENOMEM;
	for (uint32_t i = 0; rc == 0 && i < report->n; i++) {
		const struct ranked_model *entrant = &report->entrants[i];
		struct measured_figures *measured = &models->measured[i];

		models->n = i + 1;
		rc = figures_measure_copy(entrant->figures, halt ? entrant->measures : NULL,
					  halt ? halt->reader : NULL, measured);
		/* A model that cannot be measured has no θ, because θ of a part must not be
		 * compared. */
		if (rc < 0 && rc != -EINTR && rc != -ENOMEM)
			rc = 0;
		models->figures[i] = &measured->figures;
		models->ranked[i] = add_up(&measured->figures, entrant->name);
	}
	return rc;
}

static int print(void *context, const struct halt *halt, FILE *out)
{
	const struct models_report *report = context;
	struct measured_models models = { 0 };
	int rc = measure(report, halt, &models);

	if (rc == 0)
		rc = report->print(models.figures, models.ranked, report->n, out);
	release_measured(&models);
	return rc;
}

/* Printable copy: a file name may have line breaks. */
static char *one_line(const char *name)
{
	char *text = strdup(name);

	if (text)
		make_printable(text);
	return text;
}

static bool enter(struct ranked_model *entrant, const struct model_files *files)
{
	struct snapshot snapshot;

	entrant->measures = files->measures;
	entrant->name = one_line(files->model->shown);
	if (!entrant->name || model_snapshot(files->model, &snapshot) < 0)
		return false;
	entrant->figures = figures_new(files->model, &snapshot);
	snapshot_release(&snapshot);
	return entrant->figures != NULL;
}

static struct view *report_view(struct model_files *files, uint32_t n, print_models_fn *printer)
{
	static const struct whole_text_ops ops = { print, release };
	struct models_report *report = calloc(1, sizeof(*report) + n * sizeof(report->entrants[0]));
	bool well = report != NULL;

	if (report)
		report->print = printer;
	for (uint32_t i = 0; well && i < n; i++) {
		report->n = i + 1;
		well = enter(&report->entrants[i], model_files_current(files, i));
	}
	if (well)
		return whole_text_view(whole_text_new(&ops, report, NULL));
	if (report)
		release(report);
	return NULL;
}

static struct view *manifest_of(const struct models_root *overview)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);
	struct view *view;
	int rc = 0;

	if (!out)
		return NULL;
	fputs("{\n\"organfs\": \"" ORGANFS_VERSION "\",\n\"models\": [", out);
	for (uint32_t i = 0; rc == 0 && i < overview->n; i++) {
		fputs(i ? ",\n  " : "\n  ", out);
		rc = manifest_print_model(model_files_current(overview->files, i)->model, out);
	}
	fputs("\n]\n}\n", out);
	view = view_of_stream(out, &text, &size);
	if (rc == 0)
		return view;
	view_unref(view);
	return NULL;
}

static struct view *view_of(void *context, enum generated_kind kind, struct error *err)
{
	const struct models_root *overview = context;
	size_t size;
	char *text;

	(void)err;
	if (kind == GENERATED_THETA)
		return report_view(overview->files, overview->n, print_ranking);
	if (kind == GENERATED_REPORT_JSON)
		return report_view(overview->files, overview->n, models_json_print);
	if (kind == GENERATED_MANIFEST)
		return manifest_of(overview);
	text = log_text(overview->log, &size);
	return view_of_text(text, size);
}

static bool name_models(struct models_root *overview)
{
	overview->names = names_new(overview->n);
	for (uint32_t i = 0; overview->names && i < overview->n; i++) {
		const char *name = overview->files[i].model->shown;

		if (names_add(overview->names, name, strlen(name), i) < 0)
			return false;
	}
	return overview->names != NULL;
}

struct models_root *models_root_new(struct model_files *files, uint32_t n, struct inodes *inodes,
				    struct log *log)
{
	struct models_root *overview = calloc(1, sizeof(*overview));
	const struct generator generator = {
		.stamp = stamp_of,
		.view = view_of,
		.context = overview,
		.mtime = backing_stat(files[0].model->base)->st_mtim,
		.log = log,
	};

	if (!overview)
		return NULL;
	overview->files = files;
	overview->n = n;
	overview->log = log;
	overview->generated = generated_new(&generator, inodes);
	if (overview->generated && name_models(overview))
		return overview;
	models_root_free(overview);
	return NULL;
}

void models_root_free(struct models_root *overview)
{
	if (!overview)
		return;
	generated_free(overview->generated);
	names_free(overview->names);
	free(overview);
}

struct model *models_root_find(struct models_root *overview, const char *name)
{
	uint32_t i;

	return names_find(overview->names, name, strlen(name), &i)
		       ? model_files_current(overview->files, i)->model
		       : NULL;
}

struct generated *models_root_generated(const struct models_root *overview)
{
	return overview->generated;
}

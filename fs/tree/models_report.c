/* SPDX-License-Identifier: MIT */
/* models_report.c - see models_report.h. */
#include "fs/tree/models_report.h"
#include "fs/lazy/figures.h"
#include "fs/report/ranking.h"
#include "gguf/printable.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* One model: what to measure, and its name as it is shown. */
struct models_report_entry {
	struct tensor_measures *measures;
	struct figures *figures;
	char *name;
};

struct models_report {
	struct view_generator generator;
	uint32_t n;
	pthread_mutex_t lock; /* protects what follows */
	char *text;	      /* as it was made once; NULL: not yet */
	size_t size;
	struct models_report_entry entrants[];
};

static void release(struct view_generator *generator)
{
	struct models_report *standings = (struct models_report *)generator;

	for (uint32_t i = 0; i < standings->n; i++) {
		figures_free(standings->entrants[i].figures);
		free(standings->entrants[i].name);
	}
	pthread_mutex_destroy(&standings->lock);
	free(standings->text);
	free(standings);
}

static int prepare(struct view_generator *generator, size_t first, size_t n,
		   const atomic_bool *stop)
{
	const struct models_report *standings = (struct models_report *)generator;

	(void)first;
	(void)n;
	for (uint32_t i = 0; i < standings->n; i++) {
		const struct models_report_entry *entrant = &standings->entrants[i];

		if (tensor_measures_prepare(entrant->measures, entrant->figures->subjects,
					    entrant->figures->n, stop) == -EINTR)
			return -EINTR;
	}
	return 0;
}

/* Add up a model, with measures or without. Returns 0, or -EINTR. */
static int add_up(const struct models_report_entry *entrant, bool measured, const atomic_bool *stop,
		  struct ranked *ranked)
{
	const struct figures *figures = entrant->figures;

	*ranked = (struct ranked){ .name = entrant->name };
	for (size_t i = 0; i < figures->n; i++) {
		const struct figure *figure = &figures->figures[i];
		struct zmeasure z;
		int rc = -ENOTSUP;

		if (measured)
			rc = tensor_measures_get(entrant->measures, &figures->subjects[i], stop,
						 &z);
		if (rc == -EINTR)
			return rc;
		/* Part of a model is not to be compared with others. */
		if (rc < 0 && rc != -ENOTSUP)
			return add_up(entrant, false, stop, ranked);
		ranking_count(ranked, figure->klass, figure->elements, rc == 0 ? &z : NULL);
	}
	return 0;
}

/* The text, to free. NULL with *rc set. */
static char *print(const struct models_report *standings, bool measured, const atomic_bool *stop,
		   size_t *size, int *rc)
{
	struct ranked *ranked = calloc(standings->n + 1u, sizeof(*ranked));
	char *text = NULL;
	FILE *out = ranked ? open_memstream(&text, size) : NULL;

	*rc = out ? 0 : -ENOMEM;
	for (uint32_t i = 0; *rc == 0 && i < standings->n; i++)
		*rc = add_up(&standings->entrants[i], measured, stop, &ranked[i]);
	if (*rc == 0) {
		fputs("# organfs " ORGANFS_VERSION "\n", out);
		*rc = ranking_print(ranked, standings->n, out);
	}
	if (out && fclose(out) != 0)
		*rc = -ENOMEM;
	free(ranked);
	if (*rc == 0)
		return text;
	free(text);
	return NULL;
}

static int make(struct view_generator *generator, size_t number, char *bytes, size_t length,
		const atomic_bool *stop)
{
	struct models_report *standings = (struct models_report *)generator;
	int rc = 0;

	(void)number;
	pthread_mutex_lock(&standings->lock);
	if (!standings->text)
		standings->text = print(standings, true, stop, &standings->size, &rc);
	if (rc == 0 && standings->size != length)
		rc = -EIO;
	if (rc == 0)
		memcpy(bytes, standings->text, length);
	pthread_mutex_unlock(&standings->lock);
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
	struct models_report *standings =
		calloc(1, sizeof(*standings) + n * sizeof(standings->entrants[0]));
	struct segment whole = { .kind = SEGMENT_COMPUTED };
	bool well = standings != NULL;
	char *text = NULL;
	size_t size;
	int rc;

	if (!standings)
		return NULL;
	standings->generator = (struct view_generator){ prepare, make, release };
	pthread_mutex_init(&standings->lock, NULL);
	for (uint32_t i = 0; well && i < n; i++) {
		standings->n = i + 1;
		well = enter(&standings->entrants[i], model_files_current(mounted, i));
	}
	if (well)
		text = print(standings, false, NULL, &size, &rc);
	free(text);
	if (!text) {
		release(&standings->generator);
		return NULL;
	}
	whole.length = size;
	return view_new_computed(&whole, 1, NULL, &standings->generator);
}

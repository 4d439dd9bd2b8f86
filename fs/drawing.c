/* SPDX-License-Identifier: MIT */
/* drawing.c - see drawing.h. */
#include "fs/drawing.h"
#include "fs/chart.h"
#include "fs/collection.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int fail(const char *file, int rc)
{
	fprintf(stderr, "organfs: %s: %s\n", file, strerror(-rc));
	return rc;
}

/* The picture as it is before anything is measured. NULL: out of memory. */
static struct view *view_of(struct model *model, struct readings *readings)
{
	struct snapshot snapshot;
	struct figures *figures;

	if (model_snapshot(model, &snapshot) < 0)
		return NULL;
	figures = figures_new(model, &snapshot);
	snapshot_release(&snapshot);
	return figures ? sheet_view(readings, figures, chart_print) : NULL;
}

/* All of it or nothing. Returns 0 or -1, after a line on stderr. */
static int print(struct view *view, const char *file)
{
	const size_t size = (size_t)view_size(view);
	char *text = malloc(size);
	ssize_t got = text ? view_read(view, text, size, 0) : -ENOMEM;

	if (got < 0)
		fail(file, (int)got);
	else if (fwrite(text, 1, (size_t)got, stdout) != (size_t)got || fflush(stdout) != 0)
		got = fail("standard output", -errno);
	free(text);
	return got < 0 ? -1 : 0;
}

static int draw(struct model *model, const struct options *options)
{
	struct readings *readings = readings_new(model, options->samples, NULL);
	struct view *view = readings ? view_of(model, readings) : NULL;
	const int rc = view ? print(view, options->models[0]) : fail(options->models[0], -ENOMEM);

	view_unref(view);
	readings_free(readings);
	return rc;
}

int drawing_run(const struct options *options)
{
	struct log *log = log_new(true);
	struct collection collection;
	struct error err = { 0 };
	const char *culprit = NULL;
	char text[320];
	int rc = -1;

	if (!log) {
		fail(options->models[0], -ENOMEM);
		return 1;
	}
	if (collection_open(&collection, options, log, &culprit, &err) < 0)
		fprintf(stderr, "organfs: %s: %s\n", culprit,
			error_describe(&err, text, sizeof(text)));
	else if (collection.n != 1)
		fprintf(stderr,
			"organfs: %s: there are %u models in this directory, and a "
			"picture is of one\n",
			culprit, (unsigned)collection.n);
	else
		rc = draw(collection.models[0], options);
	collection_close(&collection);
	log_free(log);
	return rc < 0 ? 1 : 0;
}

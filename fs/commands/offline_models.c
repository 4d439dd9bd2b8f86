/* SPDX-License-Identifier: MIT */
/* offline_models.c - see offline_models.h. */
#include "fs/commands/offline_models.h"
#include "fs/commands/terminal_progress.h"
#include "fs/commands/terminal_text.h"
#include "fs/lazy/figures.h"
#include "fs/lazy/memo.h"
#include "fs/lazy/tensor_measures.h"
#include "fs/model/model.h"
#include "fs/model/slots.h"
#include "fs/mount/options.h"
#include "fs/util/log.h"
#include "fs/util/url.h"
#include "gguf/error.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int offline_models_report(const char *format, ...)
{
	const struct terminal terminal = terminal_text_detect_stdout();
	char *text = NULL;
	va_list values;

	va_start(values, format);
	if (vasprintf(&text, format, values) < 0)
		text = NULL;
	va_end(values);
	fputs("organfs: ", stderr);
	terminal_text_put(&terminal, stderr, text ? text : strerror(ENOMEM), SIZE_MAX);
	fputc('\n', stderr);
	free(text);
	return -1;
}

int offline_models_fail(const char *file, int rc)
{
	char *shown = url_is_remote(file) ? url_shown(file) : NULL;

	if (url_is_remote(file))
		file = shown ? shown : "the URL";
	offline_models_report("%s: %s", file, strerror(-rc));
	free(shown);
	return -1;
}

int offline_models_print(const char *text, size_t size)
{
	if (fwrite(text, 1, size, stdout) == size && fflush(stdout) == 0)
		return 0;
	return offline_models_fail("standard output", -errno);
}

static bool look(void *context, uint64_t *done, uint64_t *total)
{
	const struct offline_model *viewed = context;

	*done = memo_count(viewed->measures);
	*total = viewed->figures->n;
	return *total != 0;
}

/* Returns 0 or -errno. */
static int measure(struct offline_model *viewed, struct model *model, uint64_t samples,
		   struct log *log)
{
	struct terminal_progress *progress;
	struct snapshot snapshot;
	int rc;

	viewed->model = model;
	viewed->measures = tensor_measures_new(model, samples, NULL);
	if (!viewed->measures || model_snapshot(model, &snapshot) < 0)
		return -ENOMEM;
	viewed->figures = figures_new(model, &snapshot);
	snapshot_release(&snapshot);
	if (viewed->figures)
		viewed->values = calloc(viewed->figures->n + 1, sizeof(*viewed->values));
	if (!viewed->values)
		return -ENOMEM;
	progress = terminal_progress_begin(model->name, "tensors", look, viewed, log);
	rc = figures_measure(viewed->figures, viewed->measures, viewed->values, NULL);
	terminal_progress_end(progress);
	return rc;
}

/* Returns 0, or -1 after a line on stderr. */
static int open_all(struct offline_models *viewing, const struct options *options)
{
	struct models *collection = &viewing->collection;
	struct error err = { 0 };
	const char *culprit = NULL;
	char text[320];

	if (models_open(collection, options, viewing->log, &culprit, &err) < 0) {
		log_error("%s: %s", culprit, error_describe(&err, text, sizeof(text)));
		return -1;
	}
	if (collection->n == options->n_models)
		return 0;
	log_error("%s: there are %u models in this directory; a picture shows one: name it",
		  options_name(options, 0), (unsigned)collection->n);
	return -1;
}

int offline_models_open(struct offline_models *viewing, const struct options *options)
{
	int rc;

	*viewing = (struct offline_models){ .log = log_new(true) };
	if (!viewing->log)
		return offline_models_fail(options_name(options, 0), -ENOMEM);
	if (open_all(viewing, options) < 0)
		return -1;
	viewing->models = calloc(viewing->collection.n, sizeof(*viewing->models));
	if (!viewing->models)
		return offline_models_fail(options_name(options, 0), -ENOMEM);
	for (; viewing->n < viewing->collection.n; viewing->n++) {
		rc = measure(&viewing->models[viewing->n], viewing->collection.models[viewing->n],
			     options->samples, viewing->log);
		if (rc < 0)
			return offline_models_fail(options_name(options, viewing->n++), rc);
	}
	return 0;
}

void offline_models_close(struct offline_models *viewing)
{
	for (uint32_t i = 0; i < viewing->n; i++) {
		figures_free(viewing->models[i].figures);
		free(viewing->models[i].values);
		memo_free(viewing->models[i].measures);
	}
	free(viewing->models);
	if (viewing->log) {
		models_close(&viewing->collection);
		log_free(viewing->log);
	}
}

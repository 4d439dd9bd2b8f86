/* SPDX-License-Identifier: MIT */
/* diff_command.c - see diff_command.h. */
#include "fs/commands/diff_command.h"
#include "fs/base/base.h"
#include "fs/commands/offline_models.h"
#include "fs/commands/terminal_progress.h"
#include "fs/diff/diff.h"
#include "fs/diff/diff_side.h"
#include "fs/diff/diff_summary.h"
#include "fs/diff/diff_table.h"
#include "fs/mount/options.h"
#include "fs/storage/backing.h"
#include "fs/storage/view.h"
#include "fs/util/log.h"
#include "fs/util/parallel.h"
#include "fs/util/pool.h"
#include "fs/util/url.h"
#include "gguf/error.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct diff_operands {
	struct log *log;
	struct pool *pool;
	struct base bases[2];
	struct diff *diff;
};

/* The name of a model for messages, to free. */
static char *shown_name(const char *given)
{
	return url_is_remote(given) ? url_shown(given) : strdup(given);
}

/* Open model number i, and make a side of it. NULL after a line on stderr. */
static struct diff_side *open_side(struct diff_operands *operands, const struct options *options,
				   unsigned i)
{
	struct base *base = &operands->bases[i];
	struct error err = { 0 };
	char *name = shown_name(options_name(options, i)), text[320];
	struct diff_side *side = NULL;

	if (!name) {
		offline_models_fail("--diff", -ENOMEM);
	} else if (base_open(base, options->models[i], &err) < 0) {
		offline_models_report("%s: %s", name, error_describe(&err, text, sizeof(text)));
	} else {
		backing_set_log(base->file, operands->log);
		side = diff_side_of_base(base->file, base->gguf, name);
		if (!side)
			offline_models_fail(name, -ENOMEM);
	}
	free(name);
	return side;
}

/* Returns 0, or -1 after a line on stderr. */
static int open_both(struct diff_operands *operands, const struct options *options)
{
	struct diff_side *here, *there;
	struct diff_params params = { .samples = options->samples };

	operands->log = log_new(true);
	operands->pool = params.pool = pool_new(parallel_threads());
	if (!operands->log || !operands->pool)
		return offline_models_fail("--diff", -ENOMEM);
	here = open_side(operands, options, 0);
	if (!here)
		return -1;
	there = open_side(operands, options, 1);
	if (!there) {
		diff_side_free(here);
		return -1;
	}
	operands->diff = diff_new(here, there, &params);
	return operands->diff ? 0 : offline_models_fail("--diff", -ENOMEM);
}

static void close_both(struct diff_operands *operands)
{
	/* First end the jobs, which use the other members. */
	if (operands->pool)
		pool_free(operands->pool);
	diff_unref(operands->diff);
	base_close(&operands->bases[0]);
	base_close(&operands->bases[1]);
	if (operands->log)
		log_free(operands->log);
}

static bool look(void *context, uint64_t *done, uint64_t *total)
{
	struct diff *diff = context;

	*done = 0;
	*total = diff->n;
	for (size_t i = 0; i < diff->n; i++)
		*done += diff->pairs[i].same || diff_result(diff, i);
	return *total != 0;
}

/* Returns 0, or -1 after a line on stderr; if a file cannot be read, the log has that line. */
static int print_view(struct view *view, struct diff_operands *operands)
{
	struct terminal_progress *progress = terminal_progress_begin("comparing", "tensors", look,
								     operands->diff, operands->log);
	const size_t size = (size_t)view_size(view);
	char *text = malloc(size + 1);
	ssize_t n = text ? view_read(view, text, size, 0) : -ENOMEM;
	int rc;

	terminal_progress_end(progress);
	if (n < 0)
		rc = offline_models_fail("the models cannot be compared", (int)n);
	else
		rc = offline_models_print(text, (size_t)n);
	free(text);
	return rc;
}

static int print(struct diff_operands *operands, bool table)
{
	struct diff *diff = operands->diff;
	int rc = -ENOMEM;
	struct view *view = table ? diff_table_view(diff) : diff_summary_view(diff, &rc);

	rc = view ? print_view(view, operands)
		  : offline_models_fail("the models cannot be compared", rc);
	view_unref(view);
	return rc;
}

int diff_command(const struct options *options)
{
	struct diff_operands operands = { .log = NULL };
	int rc = open_both(&operands, options);

	if (rc == 0)
		rc = print(&operands, options->diff_form != NULL);
	close_both(&operands);
	return rc < 0 ? 1 : 0;
}

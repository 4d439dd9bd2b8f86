/* SPDX-License-Identifier: MIT */
/* lazy_report.c - see lazy_report.h. */
#include "fs/lazy/lazy_report.h"
#include "fs/lazy/whole_text.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct lazy_report {
	struct memo *measures;
	struct figures *figures;
	lazy_report_print_fn *print;
};

static void release(void *context)
{
	struct lazy_report *report = context;

	figures_free(report->figures);
	free(report);
}

static int print(void *context, const struct halt *halt, FILE *out)
{
	const struct lazy_report *report = context;
	const size_t n = report->figures->n;
	struct figures figures = *report->figures;
	struct zmeasure *z;
	int rc = -ENOMEM;

	if (!halt)
		return report->print(&figures, out);
	/* The figures of a report stay as they are, so that it can be printed again. */
	z = calloc(n + 1, sizeof(*z));
	figures.figures = calloc(n + 1, sizeof(*figures.figures));
	if (z && figures.figures) {
		memcpy(figures.figures, report->figures->figures, n * sizeof(*figures.figures));
		rc = figures_measure(&figures, report->measures, z, halt->reader);
	}
	if (rc == 0)
		rc = report->print(&figures, out);
	free(figures.figures);
	free(z);
	return rc;
}

struct view *lazy_report_view(struct memo *measures, struct figures *figures,
			      lazy_report_print_fn *printer)
{
	static const struct whole_text_ops ops = { print, release };
	struct lazy_report *report = malloc(sizeof(*report));

	if (!report) {
		figures_free(figures);
		return NULL;
	}
	*report = (struct lazy_report){ measures, figures, printer };
	return whole_text_view(whole_text_new(&ops, report, NULL));
}

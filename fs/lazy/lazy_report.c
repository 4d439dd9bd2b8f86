/* SPDX-License-Identifier: MIT */
/* lazy_report.c - see lazy_report.h. */
#include "fs/lazy/lazy_report.h"
#include "fs/lazy/figures.h"
#include "fs/lazy/whole_text.h"
#include "fs/util/halt.h"

#include <errno.h>
#include <stdlib.h>

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

/* Measure a copy of the figures, so that the report can be printed again. */
static int print(void *context, const struct halt *halt, FILE *out)
{
	const struct lazy_report *report = context;
	struct measured_figures measured;
	int rc;

	if (!halt)
		return report->print(report->figures, out);
	rc = figures_measure_copy(report->figures, report->measures, halt->reader, &measured);
	if (rc == 0)
		rc = report->print(&measured.figures, out);
	measured_figures_release(&measured);
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

/* SPDX-License-Identifier: MIT */
/* lazy_report.c - see lazy_report.h. */
#include "fs/lazy/lazy_report.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

struct lazy_report {
	struct view_generator generator;
	struct tensor_measures *measures;
	struct figures *figures;
	lazy_report_print_fn *print;
	pthread_mutex_t lock; /* protects what follows */
	char *text;	      /* as it was made once; NULL: not yet */
	size_t size;
};

static void release(struct view_generator *generator)
{
	struct lazy_report *sheet = (struct lazy_report *)generator;

	figures_free(sheet->figures);
	pthread_mutex_destroy(&sheet->lock);
	free(sheet->text);
	free(sheet);
}

static int prepare(struct view_generator *generator, size_t first, size_t n,
		   const atomic_bool *stop)
{
	struct lazy_report *sheet = (struct lazy_report *)generator;

	(void)first;
	(void)n;
	return tensor_measures_prepare(sheet->measures, sheet->figures->subjects, sheet->figures->n,
				       stop);
}

/* The text of these figures, to free; NULL: out of memory. */
static char *print(lazy_report_print_fn *printer, const struct figures *figures, size_t *size)
{
	char *text = NULL;
	FILE *out = open_memstream(&text, size);
	int rc;

	if (!out)
		return NULL;
	rc = printer(figures, out);
	if (fclose(out) != 0 || rc < 0) {
		free(text);
		return NULL;
	}
	return text;
}

static int print_measured(struct lazy_report *sheet, const atomic_bool *stop)
{
	const size_t n = sheet->figures->n;
	struct figures figures = *sheet->figures;
	struct zmeasure *z = calloc(n + 1, sizeof(*z));
	int rc = -ENOMEM;

	/* Other threads look at those of the sheet. */
	figures.figures = calloc(n + 1, sizeof(*figures.figures));
	if (z && figures.figures) {
		memcpy(figures.figures, sheet->figures->figures, n * sizeof(*figures.figures));
		rc = figures_measure(&figures, sheet->measures, z, stop);
	}
	if (rc == 0) {
		sheet->text = print(sheet->print, &figures, &sheet->size);
		rc = sheet->text ? 0 : -ENOMEM;
	}
	free(figures.figures);
	free(z);
	return rc;
}

static int make(struct view_generator *generator, size_t number, char *bytes, size_t length,
		const atomic_bool *stop)
{
	struct lazy_report *sheet = (struct lazy_report *)generator;
	int rc = 0;

	(void)number;
	pthread_mutex_lock(&sheet->lock);
	if (!sheet->text)
		rc = print_measured(sheet, stop);
	if (rc == 0 && sheet->size != length) {
		/* Metadata could not be read this time. */
		free(sheet->text);
		sheet->text = NULL;
		rc = -EIO;
	}
	if (rc == 0)
		memcpy(bytes, sheet->text, length);
	pthread_mutex_unlock(&sheet->lock);
	return rc;
}

struct view *lazy_report_view(struct tensor_measures *measures, struct figures *figures,
			      lazy_report_print_fn *printer)
{
	struct lazy_report *sheet = calloc(1, sizeof(*sheet));
	struct segment whole = { .kind = SEGMENT_COMPUTED };
	size_t size;
	char *text = sheet ? print(printer, figures, &size) : NULL;

	free(text);
	if (!text) {
		figures_free(figures);
		free(sheet);
		return NULL;
	}
	whole.length = size;
	sheet->generator = (struct view_generator){ prepare, make, release };
	sheet->measures = measures;
	sheet->figures = figures;
	sheet->print = printer;
	pthread_mutex_init(&sheet->lock, NULL);
	return view_new_computed(&whole, 1, NULL, &sheet->generator);
}

/* SPDX-License-Identifier: MIT */
/* diff_table.c - see diff_table.h. */
#include "fs/diff/diff_table.h"
#include "fs/diff/diff.h"
#include "fs/diff/diff_side.h"
#include "fs/storage/view.h"
#include "fs/tensor/tensor_difference.h"
#include "fs/util/text_escape.h"
#include "gguf/anatomy.h"
#include "gguf/types.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* "yes", "no" and "-" */
#define SAME_WIDTH 3

/* Widths of a cosine by "%.8f", a number by "%.9g", and -90 to 90 by "%.4f". */
#define COSINE_WIDTH 11
#define NUMBER_WIDTH 16
#define THETA_WIDTH  8

/* Bytes of the 7 measured fields of a pair, with tabs and newline. */
#define CELL \
	(SAME_WIDTH + COSINE_WIDTH + 3 * NUMBER_WIDTH + THETA_WIDTH + DIFFERENCE_STATUS_WIDTH + 7)

struct diff_cells {
	struct view_generator generator;
	struct diff *diff; /* owns a reference */
};

double diff_table_number(double value)
{
	return isnan(value) ? NAN : value;
}

static int prepare(struct view_generator *generator, size_t first, size_t n,
		   const atomic_bool *stop)
{
	return diff_measure(((struct diff_cells *)generator)->diff, first, n, stop);
}

/* Programs skip blanks before a number, but not after a word. */
static void print_cell(const struct tensor_difference *d, char text[CELL + 1])
{
	const bool both = d->status != DIFFERENCE_ONLY_HERE && d->status != DIFFERENCE_ONLY_THERE;
	const char *same = d->same ? "yes" : both ? "no" : "-";
	const char *status = tensor_difference_status(d->status);

	snprintf(text, CELL + 1, "%s\t%*.8f\t%*.9g\t%*.9g\t%*.9g\t%*.4f\t%s\n", same,
		 COSINE_WIDTH + SAME_WIDTH - (int)strlen(same), diff_table_number(d->cosine),
		 NUMBER_WIDTH, diff_table_number(d->relative), NUMBER_WIDTH,
		 diff_table_number(d->average), NUMBER_WIDTH, diff_table_number(d->largest),
		 THETA_WIDTH + DIFFERENCE_STATUS_WIDTH - (int)strlen(status),
		 diff_table_number(d->theta), status);
}

static int make(struct view_generator *generator, size_t number, char *bytes, size_t length,
		const atomic_bool *stop)
{
	struct diff *diff = ((struct diff_cells *)generator)->diff;
	const int rc = diff_measure(diff, number, 1, stop);
	char text[CELL + 1];

	if (rc < 0)
		return rc;
	print_cell(diff_result(diff, number), text);
	if (strlen(text) != length)
		return -EIO;
	memcpy(bytes, text, length);
	return 0;
}

static void release(struct view_generator *generator)
{
	diff_unref(((struct diff_cells *)generator)->diff);
	free(generator);
}

static void print_type(const struct diff_tensor *tensor, FILE *out)
{
	char scratch[TYPE_NAME_MAX];

	fprintf(out, "%s\t", tensor ? type_name(tensor->at.organ.type, scratch) : "-");
}

void diff_table_print_tensor(const struct diff_tensor *tensor, FILE *out)
{
	fprintf(out, "%s\t%s\t", class_name(tensor->klass), kind_name(tensor->kind));
	if (tensor->block < 0)
		fputs("-\t", out);
	else
		fprintf(out, "%" PRId32 "\t", tensor->block);
	text_escape_print(tensor->at.organ.name, tensor->at.organ.name_length, "%", out);
	fputc('\t', out);
}

static void print_pair(const struct diff_pair *pair, FILE *out)
{
	diff_table_print_tensor(diff_pair_any(pair), out);
	print_type(pair->here, out);
	print_type(pair->there, out);
}

/* Text of the table without cells, to free; ends receives the offset of each cell. */
static char *described(const struct diff *diff, size_t *ends)
{
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);
	bool well = out != NULL;

	if (well)
		fputs(DIFF_TABLE_HEADER, out);
	for (size_t i = 0; well && i < diff->n; i++) {
		print_pair(&diff->pairs[i], out);
		well = fflush(out) == 0;
		ends[i] = size;
	}
	if (out && fclose(out) != 0)
		well = false;
	ends[diff->n] = size;
	if (well)
		return text;
	free(text);
	return NULL;
}

/* The text, which becomes the view's, with a cell at each offset but the last. */
static struct view *with_cells(struct diff *diff, char *text, const size_t *ends)
{
	struct segment *segments = calloc(2 * diff->n + 1, sizeof(*segments));
	struct diff_cells *cells = calloc(1, sizeof(*cells));
	struct view *view;
	size_t n = 0, at = 0;

	if (!text || !segments || !cells) {
		free(text);
		free(segments);
		free(cells);
		return NULL;
	}
	for (size_t i = 0; i <= diff->n; i++) {
		segments[n++] = (struct segment){ .kind = SEGMENT_MEMORY,
						  .length = ends[i] - at,
						  .memory = text + at };
		at = ends[i];
		if (i < diff->n)
			segments[n++] =
				(struct segment){ .kind = SEGMENT_COMPUTED, .length = CELL };
	}
	cells->generator = (struct view_generator){ prepare, make, release };
	cells->diff = diff_ref(diff);
	view = view_new_computed(segments, n, text, &cells->generator);
	free(segments);
	return view;
}

struct view *diff_table_view(struct diff *diff)
{
	size_t *ends = calloc(diff->n + 1, sizeof(*ends));
	struct view *view = NULL;

	if (ends)
		view = with_cells(diff, described(diff, ends), ends);
	free(ends);
	return view;
}

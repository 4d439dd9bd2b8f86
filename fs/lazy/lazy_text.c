/* SPDX-License-Identifier: MIT */
/* lazy_text.c - see lazy_text.h. */
#include "fs/lazy/lazy_text.h"
#include "fs/lazy/memo.h"
#include "fs/lazy/tensor_hashes.h"
#include "fs/lazy/tensor_losses.h"
#include "fs/lazy/whole_text.h"
#include "fs/model/adapters.h"
#include "fs/model/model.h"
#include "fs/storage/view.h"
#include "fs/tensor/importance_matrix.h"
#include "fs/util/array_grown.h"

#include <errno.h>
#include <math.h>
#include <stdio_ext.h>
#include <stdlib.h>
#include <string.h>

struct lazy_text_cell {
	lazy_text_print_fn *print; /* NULL: a hash or an error */
	size_t width;
	size_t before; /* bytes of text up to here */
};

struct lazy_text {
	struct view_generator generator;
	struct memo *memo;	      /* of the cells' values */
	struct tensor_hashes *hashes; /* NULL: cells of measures, or losses */
	enum hash_kind kind;
	bool of_losses;
	struct model *model;		      /* of the importance column */
	struct importance_matrix *importance; /* NULL: no such column */
	struct whole_text *whole;	      /* the last cell; NULL: an ordinary one */
	FILE *out;			      /* NULL once it is a view */
	char *text;
	size_t size;
	bool failed;
	size_t n, room;
	struct lazy_text_cell *cells;
	struct subject *subjects; /* one for each cell */
};

static void release(struct view_generator *generator)
{
	struct lazy_text *cells = (struct lazy_text *)generator;

	if (cells->out)
		fclose(cells->out);
	for (size_t i = 0; i < cells->n; i++)
		content_unref(cells->subjects[i].content);
	importance_matrix_unref(cells->importance);
	free(cells->cells);
	free(cells->subjects);
	free(cells->text);
	if (cells->whole)
		whole_text_free(cells->whole);
	free(cells);
}

static int prepare(struct view_generator *generator, size_t first, size_t n,
		   const atomic_bool *stop)
{
	struct lazy_text *cells = (struct lazy_text *)generator;
	const bool whole = cells->whole && first + n == cells->n;
	const int rc = memo_prepare(cells->memo, cells->subjects + first, n - whole, stop);

	return rc == 0 && whole ? whole_text_read(cells->whole, stop, NULL, 0) : rc;
}

/* Width of a number by "%.9g", and of a cell with its newline. */
#define NUMBER_WIDTH 16
#define NUMBER_CELL  (NUMBER_WIDTH + 1)

static void print_number(double number, char text[NUMBER_CELL + 1])
{
	/* A NaN may have a sign, which would take a byte. */
	if (isnan(number))
		snprintf(text, NUMBER_CELL + 1, "%*s\n", NUMBER_WIDTH, "nan");
	else
		snprintf(text, NUMBER_CELL + 1, "%*.9g\n", NUMBER_WIDTH, number);
}

/* Width of the importance column, 0 without one. */
static int last_column(const struct lazy_text *cells)
{
	return cells->importance ? NUMBER_CELL : 0;
}

/* Print the importance column, after a tab that replaces the newline. An unreadable matrix is no
 * error of the measures; user.organfs.importance reports it. */
static void add_importance(const struct lazy_text *cells, const struct subject *subject, char *text)
{
	const struct organ organ =
		model_organ_in_place(cells->model, subject->tensor, subject->content);
	double mean;

	if (importance_matrix_mean(cells->importance, &organ, &mean, NULL) < 0)
		mean = NAN;
	text[-1] = '\t';
	print_number(mean, text);
}

static int print_measured(struct lazy_text *cells, size_t number, char *bytes, size_t length,
			  const atomic_bool *stop)
{
	const struct lazy_text_cell *cell = &cells->cells[number];
	struct zmeasure z;
	char text[LAZY_TEXT_CELL_MAX + NUMBER_CELL];
	const int rc = memo_get(cells->memo, &cells->subjects[number], stop, &z);
	int n;

	if (rc < 0 && rc != -ENOTSUP)
		return rc;
	n = cell->print(text, LAZY_TEXT_CELL_MAX, rc == 0 ? &z : NULL);
	if (n < 0 || (size_t)(n + last_column(cells)) != length)
		return -EIO;
	if (cells->importance)
		add_importance(cells, &cells->subjects[number], text + n);
	memcpy(bytes, text, length);
	return 0;
}

static int print_loss(struct lazy_text *cells, size_t number, char *bytes, const atomic_bool *stop)
{
	char text[NUMBER_CELL + 1];
	double loss = NAN;
	const int rc = memo_get(cells->memo, &cells->subjects[number], stop, &loss);

	if (rc < 0 && rc != -ENOTSUP)
		return rc;
	print_number(loss, text);
	memcpy(bytes, text, NUMBER_CELL);
	return 0;
}

static int make(struct view_generator *generator, size_t number, char *bytes, size_t length,
		const atomic_bool *stop)
{
	struct lazy_text *cells = (struct lazy_text *)generator;
	char text[XXH128_TEXT];
	int rc;

	if (cells->of_losses)
		return print_loss(cells, number, bytes, stop);
	if (!cells->hashes)
		return print_measured(cells, number, bytes, length, stop);
	if (cells->whole && number == cells->n - 1)
		return whole_text_read(cells->whole, stop, bytes, length);
	rc = tensor_hashes_get(cells->hashes, cells->kind, &cells->subjects[number], stop, text);
	if (rc == 0)
		memcpy(bytes, text, length);
	return rc;
}

struct lazy_text *lazy_text_new(struct memo *memo)
{
	struct lazy_text *cells = calloc(1, sizeof(*cells));

	if (!cells)
		return NULL;
	cells->generator = (struct view_generator){ prepare, make, release };
	cells->memo = memo;
	cells->out = open_memstream(&cells->text, &cells->size);
	if (!cells->out) {
		free(cells);
		return NULL;
	}
	/* No lock is needed for the many small writes: no other thread has the stream. */
	__fsetlocking(cells->out, FSETLOCKING_BYCALLER);
	return cells;
}

struct lazy_text *lazy_text_new_of_hashes(struct tensor_hashes *hashes, enum hash_kind kind)
{
	struct lazy_text *cells = lazy_text_new(hashes->kinds[kind]);

	if (cells) {
		cells->hashes = hashes;
		cells->kind = kind;
	}
	return cells;
}

struct lazy_text *lazy_text_new_of_losses(struct tensor_losses *losses, uint32_t type)
{
	struct lazy_text *cells = lazy_text_new(losses->types[type]);

	if (cells)
		cells->of_losses = true;
	return cells;
}

bool lazy_text_add_weights(struct lazy_text *cells, struct model *model)
{
	cells->model = model;
	cells->importance = adapters_importance(model);
	return cells->importance;
}

FILE *lazy_text_stream(struct lazy_text *cells)
{
	return cells->out;
}

static void add(struct lazy_text *cells, const struct subject *subject, lazy_text_print_fn *print,
		size_t width)
{
	struct subject *subjects;
	struct lazy_text_cell *grown;
	size_t room = cells->room, of_subjects = room;

	grown = array_grown(cells->cells, cells->n, &room, sizeof(*grown));
	cells->cells = grown ? grown : cells->cells;
	subjects = array_grown(cells->subjects, cells->n, &of_subjects, sizeof(*subjects));
	cells->subjects = subjects ? subjects : cells->subjects;
	if (fflush(cells->out) != 0 || !grown || !subjects) {
		cells->failed = true;
		return;
	}
	/* Both arrays have grown. */
	cells->room = room;
	grown[cells->n] = (struct lazy_text_cell){ print, width, cells->size };
	subjects[cells->n] = *subject;
	if (subject->content)
		content_ref(subject->content);
	cells->n++;
}

void lazy_text_add(struct lazy_text *cells, const struct subject *subject,
		   lazy_text_print_fn *print)
{
	const struct lazy_text_cell *last = cells->n ? &cells->cells[cells->n - 1] : NULL;
	char text[LAZY_TEXT_CELL_MAX];
	int width;

	/* Cells of the same print function have the same width. */
	width = last && last->print == print ? (int)last->width
					     : print(text, sizeof(text), NULL) + last_column(cells);
	if (width <= 0 || width >= LAZY_TEXT_CELL_MAX)
		cells->failed = true;
	else
		add(cells, subject, print, (size_t)width);
}

void lazy_text_add_hash(struct lazy_text *cells, const struct subject *subject)
{
	add(cells, subject, NULL, tensor_hash_width(cells->kind));
}

void lazy_text_add_loss(struct lazy_text *cells, const struct subject *subject)
{
	if (tensor_losses_reserve(subject->content))
		add(cells, subject, NULL, NUMBER_CELL);
	else
		cells->failed = true;
}

void lazy_text_add_whole(struct lazy_text *cells, struct whole_text *whole)
{
	cells->whole = whole;
	if (whole)
		lazy_text_add_hash(cells, &(struct subject){ 0 });
	else
		cells->failed = true;
}

void lazy_text_fail(struct lazy_text *cells)
{
	cells->failed = true;
}

struct view *lazy_text_view(struct lazy_text *cells)
{
	struct segment *segments = calloc(2 * cells->n + 1, sizeof(*segments));
	struct view *view = NULL;
	size_t n = 0, at = 0;

	if (fclose(cells->out) != 0)
		cells->failed = true;
	cells->out = NULL;
	if (!segments || cells->failed) {
		release(&cells->generator);
		free(segments);
		return NULL;
	}
	for (size_t i = 0; i <= cells->n; i++) {
		const size_t end = i < cells->n ? cells->cells[i].before : cells->size;

		segments[n++] = (struct segment){ .kind = SEGMENT_MEMORY,
						  .length = end - at,
						  .memory = cells->text + at };
		at = end;
		if (i < cells->n)
			segments[n++] = (struct segment){ .kind = SEGMENT_COMPUTED,
							  .length = cells->cells[i].width };
	}
	view = view_new_computed(segments, n, NULL, &cells->generator);
	free(segments);
	return view;
}

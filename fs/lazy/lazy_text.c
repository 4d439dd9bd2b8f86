/* SPDX-License-Identifier: MIT */
/* cells.c - see cells.h. */
#include "fs/lazy/lazy_text.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct cell {
	cell_print *print; /* NULL: the source fills it */
	size_t width;
	size_t before; /* bytes of text up to here */
};

struct cells {
	struct maker maker;
	struct readings *readings;	  /* NULL: all is the source's */
	const struct cell_source *source; /* NULL: there is none */
	void *context;			  /* the source's */
	FILE *out;			  /* NULL once it is a view */
	char *text;
	size_t size;
	bool failed;
	size_t n, room;
	struct cell *cells;
	struct subject *subjects; /* one a cell */
};

static void release(struct maker *maker)
{
	struct cells *cells = (struct cells *)maker;

	if (cells->out)
		fclose(cells->out);
	for (size_t i = 0; i < cells->n; i++)
		content_unref(cells->subjects[i].content);
	free(cells->cells);
	free(cells->subjects);
	free(cells->text);
	if (cells->source && cells->source->release)
		cells->source->release(cells->context);
	free(cells);
}

static int prepare(struct maker *maker, size_t first, size_t n, const atomic_bool *stop)
{
	struct cells *cells = (struct cells *)maker;

	if (cells->source)
		return cells->source->prepare(cells->context, cells->subjects + first, n, stop);
	return readings_prepare(cells->readings, cells->subjects + first, n, stop);
}

static int print_measured(struct cells *cells, size_t number, char *bytes, size_t length,
			  const atomic_bool *stop)
{
	const struct cell *cell = &cells->cells[number];
	struct zmeasure z;
	char text[CELL_MAX];
	const int rc = readings_get(cells->readings, &cells->subjects[number], stop, &z);
	int n;

	if (rc < 0 && rc != -ENOTSUP)
		return rc;
	n = cell->print(text, sizeof(text), rc == 0 ? &z : NULL);
	if (n < 0 || (size_t)n != length)
		return -EIO;
	memcpy(bytes, text, length);
	return 0;
}

static int make(struct maker *maker, size_t number, char *bytes, size_t length,
		const atomic_bool *stop)
{
	struct cells *cells = (struct cells *)maker;

	if (!cells->source)
		return print_measured(cells, number, bytes, length, stop);
	return cells->source->fill(cells->context, &cells->subjects[number], bytes, length, stop);
}

static struct cells *new_text(void)
{
	struct cells *cells = calloc(1, sizeof(*cells));

	if (!cells)
		return NULL;
	cells->maker = (struct maker){ prepare, make, release };
	cells->out = open_memstream(&cells->text, &cells->size);
	if (!cells->out) {
		free(cells);
		return NULL;
	}
	return cells;
}

struct cells *cells_new(struct readings *readings)
{
	struct cells *cells = new_text();

	if (cells)
		cells->readings = readings;
	return cells;
}

struct cells *cells_new_from(const struct cell_source *source, void *context)
{
	struct cells *cells = new_text();

	if (cells) {
		cells->source = source;
		cells->context = context;
	} else if (source->release) {
		source->release(context);
	}
	return cells;
}

FILE *cells_text(struct cells *cells)
{
	return cells->out;
}

static bool make_room(struct cells *cells)
{
	const size_t room = cells->room ? cells->room * 2 : 16;
	struct subject *subjects;
	struct cell *more;

	if (cells->n < cells->room)
		return true;
	more = reallocarray(cells->cells, room, sizeof(*more));
	if (more)
		cells->cells = more;
	subjects = reallocarray(cells->subjects, room, sizeof(*subjects));
	if (subjects)
		cells->subjects = subjects;
	if (!more || !subjects)
		return false;
	cells->room = room;
	return true;
}

static void add(struct cells *cells, const struct subject *subject, cell_print *print, size_t width)
{
	if (fflush(cells->out) != 0 || !make_room(cells)) {
		cells->failed = true;
		return;
	}
	cells->cells[cells->n] = (struct cell){ print, width, cells->size };
	cells->subjects[cells->n] = *subject;
	if (subject->content)
		content_ref(subject->content);
	cells->n++;
}

void cells_add(struct cells *cells, const struct subject *subject, cell_print *print)
{
	char text[CELL_MAX];
	const int width = print(text, sizeof(text), NULL);

	if (width <= 0 || width >= CELL_MAX)
		cells->failed = true;
	else
		add(cells, subject, print, (size_t)width);
}

void cells_add_filled(struct cells *cells, const struct subject *subject, size_t width)
{
	add(cells, subject, NULL, width);
}

void cells_fail(struct cells *cells)
{
	cells->failed = true;
}

struct view *cells_view(struct cells *cells)
{
	struct segment *segments = calloc(2 * cells->n + 1, sizeof(*segments));
	struct view *view = NULL;
	size_t n = 0, at = 0;

	if (fclose(cells->out) != 0)
		cells->failed = true;
	cells->out = NULL;
	if (!segments || cells->failed) {
		release(&cells->maker);
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
			segments[n++] = (struct segment){ .kind = SEGMENT_MADE,
							  .length = cells->cells[i].width };
	}
	view = view_new_made(segments, n, NULL, &cells->maker);
	free(segments);
	return view;
}

/* SPDX-License-Identifier: MIT */
/* page_trail.c - see page_trail.h.
 *
 * Pages are noted window by window: one that threads may still be reading from, the one that the
 * reader is in, and what is ahead. The first one is closed, and its pages dropped, once the reader
 * is SLACK behind it. */
#include "fs/storage/page_trail.h"

#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

/* Views of less are read with two requests. */
#define SIZE_LEAST ((uint64_t)128 << 10)

/* What is noted at once. The kernel reads ahead by twice as much as read_ahead_kb of the disk says:
 * 128 KiB, and 8 MiB are seen. */
#define WINDOW ((uint64_t)16 << 20)

/* So far from their order may requests be taken: two of the largest. */
#define SLACK ((uint64_t)2 << 20)

#define WINDOWS_MOST 4

/* A model of tiny tensors has many extents in a window; pages of those after so many stay. */
#define EXTENTS_MOST 256

/* So many runs of pages of a window are dropped; where more of them lie between pages that were
 * there, the rest stays. */
#define RUNS_MOST 16

/* The last reference waits so long for pages that are still being read. */
#define TRIES	20
#define TRY_US	5000

/* Pages that were absent. */
struct trail_run {
	struct backing *file; /* borrowed from the view */
	struct page_range pages;
};

struct trail_window {
	uint64_t end;
	size_t n;
	struct trail_run runs[RUNS_MOST];
};

struct page_trail {
	atomic_uint refs;
	struct view *view;
	pthread_mutex_t lock; /* protects what follows; held for moments */
	bool busy;	      /* a thread, with the lock or without, opens and closes windows */
	bool running;	      /* the reader reads on */
	uint64_t next;	      /* where it goes on */
	/* Of the thread that is busy. */
	uint64_t noted; /* where the next window begins */
	size_t first, n;
	struct trail_window windows[WINDOWS_MOST]; /* a ring */
};

struct page_trail *page_trail_new(struct view *view)
{
	struct page_trail *trail;

	if (view_is_computed(view) || view_size(view) <= SIZE_LEAST)
		return NULL;
	trail = calloc(1, sizeof(*trail));
	if (!trail)
		return NULL;
	atomic_init(&trail->refs, 1);
	pthread_mutex_init(&trail->lock, NULL);
	trail->view = view_ref(view);
	return trail;
}

struct page_trail *page_trail_ref(struct page_trail *trail)
{
	if (trail)
		atomic_fetch_add(&trail->refs, 1);
	return trail;
}

/* The first one, trying up to so often. */
static void close_window(struct page_trail *trail, unsigned tries)
{
	const struct trail_window *window = &trail->windows[trail->first];

	for (size_t i = 0; i < window->n; i++)
		for (unsigned n = 1;
		     !backing_drop(window->runs[i].file, &window->runs[i].pages) && n < tries; n++)
			usleep(TRY_US);
	trail->first = (trail->first + 1) % WINDOWS_MOST;
	trail->n--;
}

void page_trail_unref(struct page_trail *trail)
{
	if (!trail || atomic_fetch_sub(&trail->refs, 1) != 1)
		return;
	while (trail->n)
		close_window(trail, TRIES);
	pthread_mutex_destroy(&trail->lock);
	view_unref(trail->view);
	free(trail);
}

static void note(struct trail_window *window, struct backing *file, uint64_t offset, uint64_t n)
{
	struct page_range runs[RUNS_MOST];
	const size_t absent = backing_absent(file, offset, n, runs, RUNS_MOST - window->n);

	for (size_t i = 0; i < absent; i++)
		window->runs[window->n++] = (struct trail_run){ file, runs[i] };
}

static void open_window(struct page_trail *trail)
{
	struct trail_window *window = &trail->windows[(trail->first + trail->n) % WINDOWS_MOST];
	const uint64_t size = view_size(trail->view);
	uint64_t at = trail->noted, length;
	struct extent extent;

	window->n = 0;
	window->end = size - at < WINDOW ? size : at + WINDOW;
	for (unsigned i = 0; at < window->end && i < EXTENTS_MOST; i++) {
		struct backing *file = NULL;

		if (!view_extent(trail->view, at, &extent))
			break;
		length = extent.length < window->end - at ? extent.length : window->end - at;
		/* The kernel reads ahead beyond the end of the view. */
		extent.length = length + (at + length == size ? WINDOW : 0);
		if (extent.backing)
			file = backing_file_at(extent.backing, &extent.offset, &extent.length);
		if (file)
			note(window, file, extent.offset, extent.length);
		at += extent.length < length ? extent.length : length;
	}
	trail->n++;
	trail->noted = window->end;
}

/* With the lock held, which is not while windows are moved: close those behind the reader, and open
 * what it needs. */
static void move(struct page_trail *trail)
{
	const uint64_t next = trail->next, size = view_size(trail->view);

	trail->busy = true;
	pthread_mutex_unlock(&trail->lock);
	while (trail->n && trail->windows[trail->first].end + SLACK <= next)
		close_window(trail, 1);
	while (trail->n < WINDOWS_MOST && trail->noted < next + WINDOW && trail->noted < size)
		open_window(trail);
	pthread_mutex_lock(&trail->lock);
	trail->busy = false;
}

static bool is_near(uint64_t offset, uint64_t next)
{
	return offset <= next + SLACK && offset + SLACK >= next;
}

/* With the lock held, but for a while, and no other thread busy: the reader goes on from elsewhere,
 * and may read on from there. */
static void begin(struct page_trail *trail, size_t n, uint64_t offset)
{
	trail->busy = true;
	trail->running = is_near(offset, trail->next);
	trail->next = offset + n;
	pthread_mutex_unlock(&trail->lock);
	while (trail->n)
		close_window(trail, 1);
	pthread_mutex_lock(&trail->lock);
	trail->noted = offset > SLACK ? offset - SLACK : 0;
	trail->busy = false;
}

unsigned page_trail_begin(struct page_trail *trail, size_t n, uint64_t offset)
{
	const uint64_t size = trail ? view_size(trail->view) : 0;
	bool running;

	if (offset >= size)
		return BACKING_PASSING | BACKING_SPANS;
	if (n > size - offset)
		n = (size_t)(size - offset);
	pthread_mutex_lock(&trail->lock);
	if (trail->running && is_near(offset, trail->next)) {
		if (trail->next < offset + n)
			trail->next = offset + n;
	} else if (!trail->busy) {
		begin(trail, n, offset);
	}
	if (trail->running && !trail->busy && trail->noted < offset + n)
		move(trail);
	running = trail->running && offset + n <= trail->noted;
	pthread_mutex_unlock(&trail->lock);
	return running ? BACKING_PASSING : BACKING_PASSING | BACKING_SPANS;
}

void page_trail_end(struct page_trail *trail)
{
	if (!trail)
		return;
	pthread_mutex_lock(&trail->lock);
	if (trail->running && !trail->busy)
		move(trail);
	pthread_mutex_unlock(&trail->lock);
	page_trail_unref(trail);
}

struct backing *page_trail_file(struct page_trail *trail)
{
	struct backing *file = NULL;

	if (!trail)
		return NULL;
	pthread_mutex_lock(&trail->lock);
	for (size_t i = 0; !trail->busy && !file && i < trail->n; i++) {
		const struct trail_window *window =
			&trail->windows[(trail->first + i) % WINDOWS_MOST];

		if (window->n)
			file = window->runs[0].file;
	}
	pthread_mutex_unlock(&trail->lock);
	return file;
}

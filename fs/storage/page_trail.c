/* SPDX-License-Identifier: MIT */
/* page_trail.c - see page_trail.h.
 *
 * Pages are noted window by window: one that threads may still be reading from, the one that the
 * reader is in, and what is ahead. The first one is closed, and its pages dropped, once the reader
 * is SLACK behind it. */
#include "fs/storage/page_trail.h"
#include "fs/storage/backing.h"
#include "fs/storage/page_cache.h"
#include "fs/storage/view.h"

#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

/* Views of less are read with two requests. */
#define SIZE_LEAST ((uint64_t)128 << 10)

/* Near the end of a view the kernel would read ahead beyond it, what is to be dropped and the
 * reader of the next organ wants. So there it is told what to read ahead: this many times what was
 * read, and at least so much at once. */
#define AHEAD_TIMES 4
#define ASKED_LEAST ((uint64_t)1 << 20)

/* The kernel reads ahead by at most twice as much as read_ahead_kb of the disk says: 128 KiB, and 8
 * MiB are seen. */
#define AHEAD ((uint64_t)16 << 20)

/* What is noted at once. */
#define WINDOW ((uint64_t)8 << 20)

/* So far from their order may requests be taken: some of the largest, by threads of which one is
 * held up. */
#define SLACK ((uint64_t)8 << 20)

/* So much of it at the beginning, when few were asked for yet. */
#define SKIPPED_MOST ((uint64_t)2 << 20)

#define WINDOWS_MOST 8

/* Of more reads at a time, each drops its own pages. */
#define READS_MOST 16

/* A model of tiny tensors has many extents in a window; pages of those after so many stay. */
#define EXTENTS_MOST 256

/* So many runs of pages of a window are dropped. Where more of them lie between pages that were
 * there, or in more files, nothing is read ahead, and pages go with the read. */
#define RUNS_MOST 16

/* The kernel drops many pages that it has as one folio only together, and where a window ends
 * within one, that is left for the next. */
#define FOLIO_MOST ((uint64_t)2 << 20)

/* The last reference waits so long, in all, for pages that are still being read. */
#define TRIES  20
#define TRY_US 5000

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
	uint64_t noted;	      /* where the next window begins */
	uint64_t asked;	      /* up to where the kernel was told to read ahead */
	uint64_t filled;      /* so far, windows have no room for what the kernel would read */
	/* Where reads begin that may have the kernel read ahead: windows behind them stay open. */
	size_t n_reads;
	uint64_t reads[READS_MOST];
	/* Of the thread that is busy. */
	size_t first, n;
	struct trail_window windows[WINDOWS_MOST]; /* a ring */
	struct trail_run last;			   /* that was noted */
	uint64_t full;				   /* as filled */
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

/* The first one. As often as *more says, which becomes less, what is not gone is tried again. */
static void close_window(struct page_trail *trail, unsigned *more)
{
	const struct trail_window *window = &trail->windows[trail->first];

	for (size_t i = 0; i < window->n; i++)
		while (!backing_drop(window->runs[i].file, &window->runs[i].pages) && *more) {
			usleep(TRY_US);
			--*more;
		}
	trail->first = (trail->first + 1) % WINDOWS_MOST;
	trail->n--;
}

void page_trail_unref(struct page_trail *trail)
{
	unsigned tries = TRIES;

	if (!trail || atomic_fetch_sub(&trail->refs, 1) != 1)
		return;
	while (trail->n)
		close_window(trail, &tries);
	pthread_mutex_destroy(&trail->lock);
	view_unref(trail->view);
	free(trail);
}

/* What begins where the last run ends has the folio that may lie in both. */
static void join(struct trail_run *run, const struct trail_run *last)
{
	const uint64_t begin = run->pages.offset, before = last->pages.offset;
	uint64_t more;

	if (last->file != run->file || before > begin || begin - before > last->pages.n)
		return;
	more = begin - before < FOLIO_MOST ? begin - before : FOLIO_MOST;
	run->pages.offset -= more;
	run->pages.n += more;
}

static void note(struct page_trail *trail, struct trail_window *window, const struct extent *extent)
{
	struct page_range runs[RUNS_MOST];
	const size_t absent = backing_absent(extent->backing, extent->offset, extent->length, runs,
					     RUNS_MOST - window->n);

	for (size_t i = 0; i < absent; i++) {
		struct trail_run run = { extent->backing, runs[i] };

		join(&run, &trail->last);
		window->runs[window->n++] = trail->last = run;
	}
}

/* So much may the kernel read ahead in the file beyond the extent, the last one of the view. */
static uint64_t beyond(const struct extent *extent)
{
	const uint64_t end = extent->offset + extent->length, size = backing_size(extent->backing);

	return size - end < AHEAD ? size - end : AHEAD;
}

/* Returns where the next one begins. */
static uint64_t open_window(struct page_trail *trail, uint64_t at)
{
	struct trail_window *window = &trail->windows[(trail->first + trail->n) % WINDOWS_MOST];
	const uint64_t size = view_size(trail->view);
	struct extent extent;

	window->n = 0;
	window->end = size - at < WINDOW ? size : at + WINDOW;
	for (unsigned i = 0; at < window->end && i < EXTENTS_MOST && window->n < RUNS_MOST; i++) {
		if (!view_extent(trail->view, at, &extent))
			break;
		if (extent.length > window->end - at)
			extent.length = window->end - at;
		at += extent.length;
		/* Of less, all is read as what is near the end is. */
		if (extent.backing && at == size && size > AHEAD)
			extent.length += beyond(&extent);
		if (extent.backing)
			note(trail, window, &extent);
	}
	if (window->n == RUNS_MOST)
		trail->full = window->end;
	trail->n++;
	return window->end;
}

/* The kernel begins to read that. */
static void ask(const struct view *view, uint64_t at, uint64_t end)
{
	struct extent extent;

	while (at < end && view_extent(view, at, &extent)) {
		if (extent.length > end - at)
			extent.length = end - at;
		if (extent.backing)
			backing_readahead(extent.backing, (size_t)extent.length, extent.offset);
		at += extent.length;
	}
}

/* With the lock held, of a read near the end: where to ask from, and in *end up to where. */
static uint64_t to_ask(struct page_trail *trail, size_t n, uint64_t offset, uint64_t *end)
{
	const uint64_t size = view_size(trail->view), read = offset + n;
	const uint64_t from = trail->asked > offset ? trail->asked : offset;
	const uint64_t ahead = read < AHEAD / AHEAD_TIMES ? read * AHEAD_TIMES : AHEAD;

	*end = size - read < ahead ? size : read + ahead;
	if (*end <= from || (*end < size && *end - from < ASKED_LEAST)) {
		*end = from;
		return from;
	}
	trail->asked = *end;
	return from;
}

/* With the lock held, which is not while windows are moved: close those behind the reader, and open
 * what it needs. */
static void move(struct page_trail *trail)
{
	const uint64_t next = trail->next, size = view_size(trail->view);
	uint64_t noted = trail->noted, behind = next > SLACK ? next - SLACK : 0;
	unsigned no_more = 0;

	for (size_t i = 0; i < trail->n_reads; i++)
		if (trail->reads[i] < behind)
			behind = trail->reads[i];
	trail->busy = true;
	pthread_mutex_unlock(&trail->lock);
	while (trail->n && trail->windows[trail->first].end <= behind)
		close_window(trail, &no_more);
	while (noted < next + AHEAD + WINDOW && noted < size) {
		if (trail->n == WINDOWS_MOST)
			close_window(trail, &no_more);
		noted = open_window(trail, noted);
	}
	pthread_mutex_lock(&trail->lock);
	trail->noted = noted;
	trail->filled = trail->full;
	trail->busy = false;
}

/* With the lock held. While another thread notes, it may. */
static bool has_absent(const struct page_trail *trail)
{
	for (size_t i = 0; !trail->busy && i < trail->n; i++)
		if (trail->windows[(trail->first + i) % WINDOWS_MOST].n)
			return true;
	return trail->busy;
}

static bool is_near(uint64_t offset, uint64_t next)
{
	return offset <= next + SLACK && offset + SLACK >= next;
}

/* With the lock held, and no other thread busy or reading: the reader goes on from elsewhere, and
 * may read on from there. It does where this read goes on from the one before, or so that requests
 * in between are about to be taken; of jumps to any place few look like that. Windows stay open:
 * the kernel may still be reading ahead in them. */
static void begin(struct page_trail *trail, size_t n, uint64_t offset)
{
	trail->running = offset >= trail->next && offset - trail->next <= SKIPPED_MOST;
	trail->next = offset + n;
	trail->noted = offset > SLACK ? offset - SLACK : 0;
	trail->asked = trail->filled = trail->full = 0;
}

unsigned page_trail_begin(struct page_trail *trail, size_t n, uint64_t offset, bool at_once)
{
	const uint64_t size = trail ? view_size(trail->view) : 0;
	uint64_t needed, from = 0, end = 0;
	bool running, to_end;

	if (offset >= size)
		return BACKING_PASSING | BACKING_SPANS;
	if (n > size - offset)
		n = (size_t)(size - offset);
	pthread_mutex_lock(&trail->lock);
	if (trail->running && is_near(offset, trail->next)) {
		if (trail->next < offset + n)
			trail->next = offset + n;
	} else if (!trail->busy && !trail->n_reads) {
		begin(trail, n, offset);
	}
	/* A thread that notes may be slower than those that read. */
	needed = size - offset - n > AHEAD ? offset + n + AHEAD : size;
	if (trail->running && !trail->busy && trail->noted < needed)
		move(trail);
	running = trail->running && trail->noted >= needed && is_near(offset, trail->next) &&
		  trail->n_reads < READS_MOST && offset >= trail->filled;
	to_end = running && size - offset <= AHEAD;
	if (running)
		trail->reads[trail->n_reads++] = offset;
	if (to_end && !at_once && has_absent(trail))
		from = to_ask(trail, n, offset, &end);
	pthread_mutex_unlock(&trail->lock);
	ask(trail->view, from, end);
	if (to_end)
		return BACKING_PASSING | BACKING_SPANS | BACKING_NOTED;
	return running ? BACKING_PASSING : BACKING_PASSING | BACKING_SPANS;
}

void page_trail_done(struct page_trail *trail, uint64_t offset)
{
	if (!trail)
		return;
	pthread_mutex_lock(&trail->lock);
	for (size_t i = 0; i < trail->n_reads; i++)
		if (trail->reads[i] == offset) {
			trail->reads[i] = trail->reads[--trail->n_reads];
			break;
		}
	pthread_mutex_unlock(&trail->lock);
}

void page_trail_move(struct page_trail *trail)
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

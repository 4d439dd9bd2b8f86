/* SPDX-License-Identifier: MIT */
/* page_trail.c - see page_trail.h.
 *
 * A ring of windows covers the range from SLACK behind the reader to beyond the kernel's
 * read-ahead. Opening a window lists its absent pages. Closing the first window drops its pages,
 * once the reader and all concurrent reads are SLACK beyond it. */
#include "fs/storage/page_trail.h"
#include "fs/storage/backing.h"
#include "fs/storage/page_cache.h"
#include "fs/storage/view.h"

#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

/* smaller views are read by two requests, which are not worth a trail */
#define SIZE_LEAST ((uint64_t)128 << 10)

/* Near the end of a view the kernel would read ahead beyond it, into pages of the next organ, which
 * a reader of that organ may need. There the trail requests read-ahead itself: AHEAD_TIMES the
 * bytes read so far, and at least ASKED_LEAST at a time. */
#define AHEAD_TIMES 4
#define ASKED_LEAST ((uint64_t)1 << 20)

/* distance of the list ahead of the reader. The kernel reads ahead at most twice read_ahead_kb,
 * which is 128 KiB to 8 MiB on the disks seen. */
#define AHEAD ((uint64_t)16 << 20)

/* bytes of a window */
#define WINDOW ((uint64_t)8 << 20)

/* Greatest distance of a request from the sequential order: some of the largest requests, when one
 * of their threads is delayed. */
#define SLACK ((uint64_t)8 << 20)

/* the same for the first requests of a sequential read */
#define SKIPPED_MOST ((uint64_t)2 << 20)

#define WINDOWS_MOST 8

/* further concurrent reads drop their own pages */
#define READS_MOST 16

/* extents per window; with tiny tensors, pages of further extents stay */
#define EXTENTS_MOST 256

/* Ranges of pages per window. If there are more (between present pages, or in many files), reads
 * are made without read-ahead and drop their own pages. */
#define RUNS_MOST 16

/* Largest folio. The kernel drops a folio's pages only together, so a folio across the end of a
 * window is dropped with the next window. */
#define FOLIO_MOST ((uint64_t)2 << 20)

/* the last reference waits at most TRIES * TRY_US for pages that are still being read */
#define TRIES  20
#define TRY_US 5000

/* Pages that were absent when listed. */
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
	pthread_mutex_t lock; /* protects the members below; held for moments */
	bool busy;	      /* a thread opens or closes windows, without the lock */
	bool running;	      /* the reader is sequential */
	uint64_t next;	      /* end of the furthest read */
	uint64_t noted;	      /* begin of the next window to open */
	uint64_t asked;	      /* end of the read-ahead requested so far */
	uint64_t filled;      /* end of the last window without room for all ranges */
	/* Offsets of reads in progress that may cause read-ahead; windows behind them stay open. */
	size_t n_reads;
	uint64_t reads[READS_MOST];
	/* Owned by the busy thread. */
	size_t first, n;
	struct trail_window windows[WINDOWS_MOST]; /* a ring */
	struct trail_run last;			   /* listed last */
	uint64_t full;				   /* next value of filled */
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

/* Close the first window. Each retry of a range that cannot be dropped yet decrements *more. */
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

/* If the run continues the last one, extend it backwards to the folio that both may share. */
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

/* Bytes beyond the extent, the last one of the view, that the kernel may read ahead. */
static uint64_t beyond(const struct extent *extent)
{
	const uint64_t end = extent->offset + extent->length, size = backing_size(extent->backing);

	return size - end < AHEAD ? size - end : AHEAD;
}

/* Open the next window, which begins at `at`. Returns its end. */
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
		/* A smaller view is read as near its end throughout, without the kernel's
		 * read-ahead. */
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

/* Start to read the bytes from `at` to `end`. */
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

/* Begin of the read-ahead to request for a read near the end, and in *end its end. Lock held. */
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

/* Close the windows behind the reader and open those ahead. Called with the lock held, which is
 * released meanwhile. */
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

/* With the lock held: is there a page to drop? True also while another thread opens windows. */
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

/* Restart the trail at another offset, with the lock held, no thread busy and no read in progress.
 * The read counts as sequential if it continues the last one, or leaves a gap that concurrent
 * requests may fill; few random reads look like that. Windows stay open, as the kernel may still
 * read ahead in them. */
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
	/* The thread that opens windows may be slower than the reading ones. */
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

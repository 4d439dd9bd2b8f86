/* SPDX-License-Identifier: MIT */
/* page_trail.h - drops behind one sequential reader of a view the pages that its reads leave in the
 * page cache (page_cache.h describes for which files).
 *
 * For a sequential reader the kernel reads ahead in the files under the view. The trail therefore
 * lists absent pages further ahead than the kernel reads, before the kernel reads them. Near the
 * end of the view the trail itself tells the kernel which bytes to read ahead, so that the kernel
 * does not read beyond the view. */
#ifndef FS_STORAGE_PAGE_TRAIL_H
#define FS_STORAGE_PAGE_TRAIL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct backing;
struct view;

struct page_trail; /* reference-counted; any thread may use it */

/* A trail for a reader of the view, of which it takes a reference. NULL: out of memory, or the view
 * is too small or computed. */
struct page_trail *page_trail_new(struct view *view);
struct page_trail *page_trail_ref(struct page_trail *trail);

/* The last reference drops the remaining pages, and may wait up to 0.1 s for pages that the kernel
 * is still reading. NULL is valid in all functions here. */
void page_trail_unref(struct page_trail *trail);

/* Call before and after each read of n bytes at offset, on the reading thread. One reader's
 * requests may be read concurrently and out of order. page_trail_begin() returns the flags for the
 * read, of enum backing_flags; page_trail_done() has to follow. at_once: the read uses
 * BACKING_AT_ONCE, so no read-ahead is requested. */
unsigned page_trail_begin(struct page_trail *trail, size_t n, uint64_t offset, bool at_once);
void page_trail_done(struct page_trail *trail, uint64_t offset);

/* Drop the pages behind the reader and list those ahead; called after the read was answered.
 * Releases the caller's reference. */
void page_trail_move(struct page_trail *trail);

/* The first file with pages to drop, borrowed. NULL: none, or another thread will drop them. */
struct backing *page_trail_file(struct page_trail *trail);

#endif

/* SPDX-License-Identifier: MIT */
/* page_trail.h - the pages that one reader of a view leaves in memory, and which are dropped behind
 * it (page_cache.h says of which files, and when).
 *
 * Of a reader that reads on, from the beginning or from where it was, the kernel reads ahead in the
 * files under the view as far as it does for any reader of them. So it is noted which pages are
 * absent, further ahead than that, before the kernel gets them. Near the end of the view the kernel
 * is told what to read ahead, so that it stops there. */
#ifndef FS_STORAGE_PAGE_TRAIL_H
#define FS_STORAGE_PAGE_TRAIL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct backing;
struct view;

struct page_trail; /* counted; any thread may use it */

/* Of a reader of the view, which gets a reference. NULL: it is not worth it, or out of memory. */
struct page_trail *page_trail_new(struct view *view);
struct page_trail *page_trail_ref(struct page_trail *trail);

/* The last one drops what is left, and may wait some moments for what the kernel reads ahead. NULL
 * is fine, in all of them. */
void page_trail_unref(struct page_trail *trail);

/* Before and after each read of n bytes at offset, on the thread that reads. Several may read for a
 * reader at once: the requests of the kernel come in their order, but are not taken in it. The
 * first one returns the flags to read with, of enum backing_flags; then page_trail_done() is
 * due. at_once: the read is made with BACKING_AT_ONCE, and the disk is asked for nothing. */
unsigned page_trail_begin(struct page_trail *trail, size_t n, uint64_t offset, bool at_once);
void page_trail_done(struct page_trail *trail, uint64_t offset);

/* Drop what is behind the reader and note what is ahead, once its read is answered. The caller's
 * reference is given up. */
void page_trail_move(struct page_trail *trail);

/* The first file of which something is left to drop, borrowed. NULL: there is none, or a thread
 * that reads will do it. */
struct backing *page_trail_file(struct page_trail *trail);

#endif

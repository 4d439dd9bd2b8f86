/* SPDX-License-Identifier: MIT */
/* page_cache.h - the policy that reads of a base leave no new pages in the kernel's page cache, so
 * that a mounted base is in memory once, as the mount's pages.
 *
 * 1. For a sequential reader, absent pages are listed before the read (cachestat(2) since Linux
 *    6.5, else mincore(2)) and dropped behind the reader (page_trail.h). The kernel answers for
 *    files that the process owns or may write to, and for root always. A page that another process
 *    has read meanwhile is dropped too; a mapped page is not.
 * 2. For other reads, and if the kernel does not list pages, the read itself drops its pages
 *    (RWF_DONTCACHE: Linux 6.14; ext4, XFS, btrfs). Without RWF_DONTCACHE, pages are listed and
 *    dropped as in 1, for each read. RWF_DONTCACHE is not used for 1, because of two reads that
 *    share a page the second would go to the disk again.
 * 3. Pages stay while another daemon has mounted the base (file_use.h), since that daemon would
 *    have to read dropped pages again.
 * 4. Pages of network filesystems stay, because they are expensive to fetch, as do those of
 *    filesystems in memory.
 * 5. Pages of other files, such as those of a layer, and of donors, stay: there may be many, and
 *    each would need a second descriptor (backing_set_passing()). */
#ifndef FS_STORAGE_PAGE_CACHE_H
#define FS_STORAGE_PAGE_CACHE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* State of one file, shared by all its descriptors. Zero it; then any thread may use it. */
struct page_cache {
	bool local;		    /* on a disk of this machine */
	atomic_bool no_uncached;    /* the filesystem rejects RWF_DONTCACHE */
	atomic_bool blind;	    /* the kernel does not list this file's pages */
	atomic_bool shared;	    /* another daemon had mounted the file at the last check */
	atomic_int_fast64_t looked; /* time of that check, in ms */
};

/* Call once, before other threads know the file. */
void page_cache_init(struct page_cache *pages, int fd);

/* Is page_cache_look() due? Cheap, and mostly false. */
bool page_cache_is_due(const struct page_cache *pages);

/* Check whether another daemon has announced the file as its base. fd is the descriptor with this
 * daemon's own announcement. */
void page_cache_look(struct page_cache *pages, int fd);

/* Should reads leave no pages? */
static inline bool page_cache_passes(const struct page_cache *pages)
{
	return pages->local && !atomic_load(&pages->shared);
}

/* io_read() for a file for which page_cache_passes() is true. alone: fd has no read-ahead, and the
 * read drops its own pages. Otherwise the caller has called page_cache_absent() and drops the
 * pages; if the kernel does not list pages, the read uses RWF_DONTCACHE if possible. */
ssize_t page_cache_read(struct page_cache *pages, int fd, void *bytes, size_t n, uint64_t offset,
			bool alone);

/* page_cache_read() from the page cache alone, on local disks. Returns -EAGAIN if bytes are absent
 * or the filesystem does not support RWF_NOWAIT. The call waits for no data, but if bytes are
 * absent the kernel starts to read them, and may wait for the file's extent map or for room in the
 * disk's queue. */
ssize_t page_cache_read_present(struct page_cache *pages, int fd, void *bytes, size_t n,
				uint64_t offset, bool alone);

static inline bool page_cache_is_local(const struct page_cache *pages)
{
	return pages->local;
}

/* Offset and length in bytes, whole pages. */
struct page_range {
	uint64_t offset, n;
};

/* List the absent pages of n bytes at offset, as up to most ranges in ascending order. Returns the
 * number of ranges. Pages beyond these ranges count as present; all do if the kernel does not
 * tell. */
size_t page_cache_absent(struct page_cache *pages, int fd, uint64_t offset, uint64_t n,
			 struct page_range *ranges, size_t most);

/* Drop the pages. Returns false if some stay, as far as the kernel counts: pages that another
 * process maps or that are still being read. */
bool page_cache_drop(int fd, const struct page_range *range);

#endif

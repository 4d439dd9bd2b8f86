/* SPDX-License-Identifier: MIT */
/* page_cache.h - what reading a file leaves of it in the kernel's page cache: nothing that was not
 * there before, so that of a base that is mounted there is one copy in memory, that of the mount.
 *
 * 1. Of a reader that reads on, it is found out first which pages are not there (cachestat(2):
 *    Linux 6.5; else mincore(2)), and these are dropped behind it (page_trail.h). The kernel tells
 *    it of a file that the process owns or may write to, and root of every one. A page that another
 *    process has read meanwhile goes too, one that it maps does not.
 * 2. Of other reads, and where the kernel does not tell, pages go with the read where it can do
 *    that (RWF_DONTCACHE: Linux 6.14; ext4, XFS, btrfs); else as in 1, read by read. It is not
 *    used for 1, for of two reads that share a page the second would go to the disk again.
 * 3. Neither is done while another daemon has the base mounted (file_use.h), which would have to
 *    read from the disk what this one drops.
 * 4. Nor on filesystems of other machines, whose pages come at a price, nor in memory.
 * 5. Of files that are no base, as those of a layer, and donors, pages stay for the kernel to drop:
 *    there may be many, and each would have a second descriptor (backing_set_passing()). */
#ifndef FS_STORAGE_PAGE_CACHE_H
#define FS_STORAGE_PAGE_CACHE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Of one file, open as often as may be. To be zeroed; then any thread may use it. */
struct page_cache {
	bool local;		    /* on a disk of this machine */
	atomic_bool no_uncached;    /* RWF_DONTCACHE was refused */
	atomic_bool blind;	    /* the kernel does not tell which pages are there */
	atomic_bool shared;	    /* another daemon had it mounted at the last look */
	atomic_int_fast64_t looked; /* when that was, in ms */
};

/* Once, before other threads know the file. */
void page_cache_init(struct page_cache *pages, int fd);

/* Is it time for page_cache_look()? Nearly always no. */
bool page_cache_is_due(const struct page_cache *pages);

/* Has another daemon announced the file as its base? fd is the descriptor that this one announced
 * it by. */
void page_cache_look(struct page_cache *pages, int fd);

/* Is reading it to leave no pages? */
static inline bool page_cache_passes(const struct page_cache *pages)
{
	return pages->local && !atomic_load(&pages->shared);
}

/* As io_read(), for a file of which page_cache_passes(). alone: nothing is read ahead for fd, and
 * pages that come with the read go with it. Otherwise the reader drops them, who has asked
 * page_cache_absent(); but where the kernel does not tell, they go with the read if it can. */
ssize_t page_cache_read(struct page_cache *pages, int fd, void *bytes, size_t n, uint64_t offset,
			bool alone);

/* The same of what is in memory, on disks of this machine: -EAGAIN where some of it is not, or the
 * filesystem cannot tell. It waits for no bytes; where some are absent the kernel begins to read
 * them, for which it may wait for the map of the file, or for room in the disk's queue. */
ssize_t page_cache_read_present(struct page_cache *pages, int fd, void *bytes, size_t n,
				uint64_t offset, bool alone);

static inline bool page_cache_is_local(const struct page_cache *pages)
{
	return pages->local;
}

/* Whole pages. */
struct page_range {
	uint64_t offset, n;
};

/* The pages of n bytes at offset that are not in memory, as up to most ranges in their order. What
 * comes after that many counts as being there, and so do all where the kernel does not tell. */
size_t page_cache_absent(struct page_cache *pages, int fd, uint64_t offset, uint64_t n,
			 struct page_range *ranges, size_t most);

/* Are they gone, as far as the kernel counts them? Pages that another process maps, and those that
 * are still being read, stay. */
bool page_cache_drop(int fd, const struct page_range *range);

#endif

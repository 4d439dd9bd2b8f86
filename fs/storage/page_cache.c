/* SPDX-License-Identifier: MIT */
/* page_cache.c - see page_cache.h. */
#include "fs/storage/page_cache.h"
#include "fs/storage/file_use.h"
#include "fs/util/disk.h"
#include "fs/util/io.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#ifndef RWF_DONTCACHE
#define RWF_DONTCACHE 0x80
#endif

/* Numbers of new system calls have the same distance on all architectures. */
#ifndef SYS_cachestat
#define SYS_cachestat (SYS_pidfd_open + 17)
#endif

/* how long the result of page_cache_look() is valid */
#define LOOK_MS 200

/* number of ranges per read that are dropped; further absent pages stay */
#define RANGES_MOST 8

void page_cache_init(struct page_cache *pages, int fd)
{
	pages->local = disk_place(fd) == DISK_HERE;
}

static int64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
	return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000 + 1;
}

bool page_cache_is_due(const struct page_cache *pages)
{
	const int64_t looked = atomic_load(&pages->looked);

	return pages->local && (looked == 0 || now_ms() - looked >= LOOK_MS);
}

void page_cache_look(struct page_cache *pages, int fd)
{
	atomic_store(&pages->looked, now_ms());
	/* Without locks other daemons cannot be detected: let pages stay. */
	atomic_store(&pages->shared, file_use_is_announced(fd, FILE_USE_BASE) != 0);
}

ssize_t page_cache_read(struct page_cache *pages, int fd, void *bytes, size_t n, uint64_t offset,
			bool alone)
{
	struct page_range ranges[RANGES_MOST];
	size_t absent = 0;
	ssize_t got;

	if ((alone || atomic_load(&pages->blind)) && !atomic_load(&pages->no_uncached)) {
		got = io_read_with(fd, RWF_DONTCACHE, bytes, n, offset);
		if (got != -EOPNOTSUPP && got != -EINVAL)
			return got;
		atomic_store(&pages->no_uncached, true);
	}
	if (alone)
		absent = page_cache_absent(pages, fd, offset, n, ranges, RANGES_MOST);
	got = io_read(fd, bytes, n, offset);
	for (size_t i = 0; i < absent; i++)
		page_cache_drop(fd, &ranges[i]);
	return got;
}

/* RWF_NOWAIT makes the kernel start to read absent pages. With RWF_DONTCACHE these are dropped
 * after the read; a read that needs RWF_DONTCACHE is not begun without it. */
ssize_t page_cache_read_present(struct page_cache *pages, int fd, void *bytes, size_t n,
				uint64_t offset, bool alone)
{
	const bool uncached = alone || (atomic_load(&pages->blind) && page_cache_passes(pages));
	ssize_t got;

	if (uncached && atomic_load(&pages->no_uncached))
		return -EAGAIN;
	got = io_read_with(fd, RWF_NOWAIT | (uncached ? RWF_DONTCACHE : 0), bytes, n, offset);
	return got == -EOPNOTSUPP || got == -EINVAL ? -EAGAIN : got;
}

/* Number of these pages in memory; -1: unknown. Source: cachestat(2). */
static int64_t count_present(int fd, const struct page_range *range)
{
	const uint64_t asked[2] = { range->offset, range->n };
	struct {
		uint64_t present, dirty, written, evicted, evicted_lately;
	} counts;

	return syscall(SYS_cachestat, fd, asked, &counts, 0) == 0 ? (int64_t)counts.present : -1;
}

/* For a file of another user mincore(2) reports all pages as present. */
static bool may_ask_mincore(int fd)
{
	struct stat stat;

	return geteuid() == 0 || (fstat(fd, &stat) == 0 && stat.st_uid == geteuid());
}

/* Convert mincore's vector, a byte per page, to ranges of absent pages. */
static size_t ranges_of(const unsigned char *resident, const struct page_range *all, uint64_t page,
			struct page_range *ranges, size_t most)
{
	size_t n = 0;

	for (uint64_t i = 0; i < all->n / page; i++) {
		const uint64_t at = all->offset + i * page;

		if (resident[i] & 1)
			continue;
		if (n && ranges[n - 1].offset + ranges[n - 1].n == at) {
			ranges[n - 1].n += page;
		} else {
			if (n == most)
				break;
			ranges[n++] = (struct page_range){ at, page };
		}
	}
	return n;
}

/* Absent pages by mincore(2). The map is not accessed. */
static size_t absent_by_page(int fd, const struct page_range *all, uint64_t page,
			     struct page_range *ranges, size_t most)
{
	unsigned char *resident = malloc((size_t)(all->n / page));
	void *map;
	size_t n = 0;

	if (!resident)
		return 0;
	map = mmap(NULL, (size_t)all->n, PROT_READ, MAP_SHARED, fd, (off_t)all->offset);
	if (map != MAP_FAILED) {
		if (mincore(map, (size_t)all->n, resident) == 0)
			n = ranges_of(resident, all, page, ranges, most);
		munmap(map, (size_t)all->n);
	}
	free(resident);
	return n;
}

size_t page_cache_absent(struct page_cache *pages, int fd, uint64_t offset, uint64_t n,
			 struct page_range *ranges, size_t most)
{
	const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	struct page_range all = { .offset = offset - offset % page };
	int64_t present;

	if (atomic_load(&pages->blind) || most == 0 || n == 0 || n > INT64_MAX - page ||
	    offset > INT64_MAX - n - page)
		return 0;
	all.n = (offset + n - all.offset + page - 1) / page * page;
	present = count_present(fd, &all);
	if (present == (int64_t)(all.n / page))
		return 0;
	if (present == 0) {
		ranges[0] = all;
		return 1;
	}
	if (!may_ask_mincore(fd)) {
		atomic_store(&pages->blind, true);
		return 0;
	}
	return absent_by_page(fd, &all, page, ranges, most);
}

bool page_cache_drop(int fd, const struct page_range *range)
{
	posix_fadvise(fd, (off_t)range->offset, (off_t)range->n, POSIX_FADV_DONTNEED);
	/* cachestat(2) also counts pages that are still being read, mincore(2) does not. */
	return count_present(fd, range) <= 0;
}

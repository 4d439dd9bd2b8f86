/* SPDX-License-Identifier: MIT */
/* test_page_cache.c - fs/storage/page_cache.c: pages that a read leaves in memory, also on older
 * kernels. Linked with --wrap for calls that these refuse. */
#include "fs/storage/file_use.h"
#include "fs/storage/page_cache.h"
#include "measure/lanes.h"
#include "tests/unit/preadv_error.h"
#include "tests/unit/resident.h"

#include <linux/magic.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <sys/vfs.h>

#ifndef SYS_cachestat
#define SYS_cachestat 451
#endif

#define PAGE  4096
#define PAGES 64

/* Answers in place of the kernel's. */
static struct {
	long type;	   /* of the filesystem; 0: the real one */
	int counts;	   /* error of cachestat(); 0: none */
	uid_t user;	   /* user id of the caller; 0: the real one */
	atomic_uint asked; /* calls of cachestat() */
} kernel;

long __real_syscall(long number, ...);
long __wrap_syscall(long number, ...);
int __real_fstatfs64(int fd, struct statfs *stat);
int __wrap_fstatfs64(int fd, struct statfs *stat);
uid_t __real_geteuid(void);
uid_t __wrap_geteuid(void);

uid_t __wrap_geteuid(void)
{
	return kernel.user ? kernel.user : __real_geteuid();
}

long __wrap_syscall(long number, ...)
{
	va_list list;
	long fd, flags;
	void *range, *counts;

	va_start(list, number);
	fd = va_arg(list, int);
	range = va_arg(list, void *);
	counts = va_arg(list, void *);
	flags = va_arg(list, int);
	va_end(list);
	if (number == SYS_cachestat)
		kernel.asked++;
	errno = kernel.counts;
	return kernel.counts ? -1 : __real_syscall(number, fd, range, counts, flags);
}

int __wrap_fstatfs64(int fd, struct statfs *stat)
{
	const int rc = __real_fstatfs64(fd, stat);

	if (kernel.type)
		stat->f_type = (__typeof__(stat->f_type))kernel.type;
	return rc;
}

/* A file of PAGES pages, none of which is cached. */
struct opened {
	struct path path;
	struct page_cache pages;
	int fd;
};

static int setup(void **state)
{
	memset(&kernel, 0, sizeof(kernel));
	preadv_error = 0;
	preadv_absent = 0;
	return temp_setup(state);
}

static struct opened open_pages(void **state)
{
	struct opened opened = { .path = in_temp(state, "file") };

	write_pages(opened.path.text, PAGES * PAGE);
	opened.fd = open(opened.path.text, O_RDONLY);
	assert_true(opened.fd >= 0);
	must(posix_fadvise(opened.fd, 0, 0, POSIX_FADV_RANDOM) == 0);
	page_cache_init(&opened.pages, opened.fd);
	return opened;
}

static void read_some(struct opened *opened, size_t n, uint64_t offset)
{
	uint8_t bytes[PAGES * PAGE];

	assert_int_equal(page_cache_read(&opened->pages, opened->fd, bytes, n, offset, true), n);
	for (size_t i = 0; i < n; i++)
		assert_int_equal(bytes[i], PAGES_BYTE(offset + i));
}

/* Read a file; of its first eight pages every other one is cached. */
static void read_patchwork(struct opened *opened)
{
	for (uint64_t i = 0; i < 8; i += 2)
		touch_pages(opened->path.text, i, 1);
	read_some(opened, 10 * PAGE, 100);
	for (uint64_t i = 0; i < 8; i++)
		assert_int_equal(resident_pages(opened->path.text, i, 1), i % 2 == 0);
	assert_int_equal(resident_in(opened->path.text), 4);
	read_some(opened, PAGES * PAGE - 200, 200);
	assert_int_equal(resident_in(opened->path.text), 4);
}

static void disks_of_this_machine_are_known(void **state)
{
	static const long local[] = { EXT4_SUPER_MAGIC, XFS_SUPER_MAGIC, BTRFS_SUPER_MAGIC,
				      F2FS_SUPER_MAGIC };
	static const long others[] = { TMPFS_MAGIC, NFS_SUPER_MAGIC, OVERLAYFS_SUPER_MAGIC, 1 };
	int fd;

	write_text(in_temp(state, "file").text, "text");
	fd = open(in_temp(state, "file").text, O_RDONLY);
	for (size_t i = 0; i < ARRAY_LENGTH(local) + ARRAY_LENGTH(others); i++) {
		const bool is_local = i < ARRAY_LENGTH(local);
		struct page_cache pages = { 0 };

		kernel.type = is_local ? local[i] : others[i - ARRAY_LENGTH(local)];
		page_cache_init(&pages, fd);
		assert_int_equal(page_cache_passes(&pages), is_local);
		assert_int_equal(page_cache_is_due(&pages), is_local);
	}
	close(fd);
}

static void a_read_leaves_no_page_that_was_not_there(void **state)
{
	struct opened opened = open_pages(state);

	read_patchwork(&opened);
	close(opened.fd);
}

static void without_uncached_reads_pages_are_counted_first(void **state)
{
	struct opened opened = open_pages(state);

	preadv_error = EOPNOTSUPP;
	read_patchwork(&opened);
	assert_true(opened.pages.no_uncached);
	assert_true(kernel.asked > 0);
	/* A refused call is not repeated. */
	preadv_error = EIO;
	read_some(&opened, PAGE, 0);
	close(opened.fd);
}

static void without_cachestat_pages_are_mapped(void **state)
{
	struct opened opened = open_pages(state);

	preadv_error = EINVAL;
	kernel.counts = ENOSYS;
	read_patchwork(&opened);
	close(opened.fd);
}

static void without_residency_data_pages_are_left(void **state)
{
	struct opened opened = open_pages(state);
	struct page_range range;

	preadv_error = EOPNOTSUPP;
	kernel.counts = EPERM;
	kernel.user = 12345;
	read_some(&opened, 3 * PAGE, 0);
	assert_int_equal(resident_in(opened.path.text), 3);
	assert_int_equal(page_cache_absent(&opened.pages, opened.fd, 0, PAGE, &range, 1), 0);
	assert_int_equal(kernel.asked, 1);
	close(opened.fd);
}

static void disk_error_is_reported(void **state)
{
	struct opened opened = open_pages(state);
	char byte;

	preadv_error = EIO;
	assert_int_equal(page_cache_read(&opened.pages, opened.fd, &byte, 1, 0, true), -EIO);
	assert_false(opened.pages.no_uncached);
	preadv_error = 0;
	assert_int_equal(page_cache_read(&opened.pages, opened.fd, &byte, 1, PAGES * PAGE, true),
			 0);
	close(opened.fd);
}

static ssize_t read_present(struct opened *opened, uint64_t page, bool alone)
{
	uint8_t bytes[2 * PAGE];
	const ssize_t got = page_cache_read_present(&opened->pages, opened->fd, bytes,
						    sizeof(bytes), page * PAGE, alone);

	for (size_t i = 0; got > 0 && i < sizeof(bytes); i++)
		assert_int_equal(bytes[i], PAGES_BYTE(page * PAGE + i));
	return got;
}

static void cached_pages_are_read_without_waiting(void **state)
{
	struct opened opened = open_pages(state);

	touch_pages(opened.path.text, 4, 3);
	for (int alone = 0; alone < 2; alone++) {
		assert_int_equal(read_present(&opened, 4, alone), 2 * PAGE);
		assert_int_equal(read_present(&opened, 5, alone), 2 * PAGE);
	}
	/* The first of two pages is cached, then neither. */
	preadv_absent = 7 * PAGE;
	assert_int_equal(read_present(&opened, 6, true), -EAGAIN);
	assert_int_equal(read_present(&opened, 30, true), -EAGAIN);
	assert_int_equal(read_present(&opened, 30, false), -EAGAIN);
	/* One filesystem refuses such reads, another one cannot drop pages. */
	preadv_error = EOPNOTSUPP;
	assert_int_equal(read_present(&opened, 4, false), -EAGAIN);
	assert_int_equal(read_present(&opened, 4, true), -EAGAIN);
	assert_false(opened.pages.no_uncached);
	preadv_error = 0;
	opened.pages.no_uncached = true;
	assert_int_equal(read_present(&opened, 4, true), -EAGAIN);
	assert_int_equal(read_present(&opened, 4, false), 2 * PAGE);
	preadv_error = EIO;
	assert_int_equal(read_present(&opened, 4, false), -EIO);
	close(opened.fd);
}

static void absent_pages_are_reported_in_ranges(void **state)
{
	struct opened opened = open_pages(state);
	struct page_cache *pages = &opened.pages;
	struct page_range ranges[4];

	touch_pages(opened.path.text, 10, 2);
	touch_pages(opened.path.text, 20, 1);
	for (kernel.counts = 0;; kernel.counts = ENOSYS) {
		const int fd = opened.fd;

		assert_int_equal(page_cache_absent(pages, fd, 10 * PAGE, PAGE, ranges, 4), 0);
		assert_int_equal(page_cache_absent(pages, fd, 5, 0, ranges, 4), 0);
		assert_int_equal(page_cache_absent(pages, fd, UINT64_MAX, 1, ranges, 4), 0);
		assert_int_equal(page_cache_absent(pages, fd, 1, UINT64_MAX, ranges, 4), 0);
		assert_int_equal(page_cache_absent(pages, fd, 3 * PAGE + 7, PAGE, ranges, 4), 1);
		assert_int_equal(ranges[0].offset, 3 * PAGE);
		assert_int_equal(ranges[0].n, 2 * PAGE);
		assert_int_equal(page_cache_absent(pages, fd, 0, PAGES * PAGE, ranges, 4), 3);
		assert_int_equal(ranges[1].offset, 12 * PAGE);
		assert_int_equal(ranges[1].n, 8 * PAGE);
		assert_int_equal(ranges[2].n, (PAGES - 21) * PAGE);
		/* Ranges beyond the array are left out. */
		assert_int_equal(page_cache_absent(pages, fd, 0, PAGES * PAGE, ranges, 2), 2);
		assert_int_equal(ranges[1].n, 8 * PAGE);
		assert_int_equal(page_cache_absent(pages, fd, 0, PAGES * PAGE, ranges, 0), 0);
		if (kernel.counts)
			break;
	}
	assert_true(page_cache_drop(opened.fd, &(struct page_range){ 10 * PAGE, PAGE }));
	assert_int_equal(resident_in(opened.path.text), 2);
	close(opened.fd);
}

static void without_memory_nothing_is_told_and_all_is_read(void **state)
{
	struct opened opened;
	struct page_range ranges[4];

	needs_failing_allocations();
	opened = open_pages(state);
	touch_pages(opened.path.text, 1, 1);
	allocation_fails(1);
	assert_int_equal(page_cache_absent(&opened.pages, opened.fd, 0, 9 * PAGE, ranges, 4), 0);
	assert_true(allocation_failed());
	assert_int_equal(page_cache_absent(&opened.pages, opened.fd, 0, 9 * PAGE, ranges, 4), 2);
	close(opened.fd);
}

static void announcement_of_another_mount_is_seen(void **state)
{
	struct opened opened = open_pages(state);
	struct page_cache *pages = &opened.pages;
	const int other = open(opened.path.text, O_RDONLY);

	assert_true(page_cache_is_due(pages));
	file_use_announce(opened.fd, FILE_USE_BASE);
	page_cache_look(pages, opened.fd);
	assert_true(page_cache_passes(pages));
	assert_false(page_cache_is_due(pages));
	file_use_announce(other, FILE_USE_BASE);
	page_cache_look(pages, opened.fd);
	assert_false(page_cache_passes(pages));
	/* The announcement ends with its descriptor. */
	close(other);
	page_cache_look(pages, opened.fd);
	assert_true(page_cache_passes(pages));
	/* A file that cannot be examined is kept. */
	page_cache_look(pages, -1);
	assert_false(page_cache_passes(pages));
	close(opened.fd);
}

UNIT_MAIN(setup, temp_teardown)

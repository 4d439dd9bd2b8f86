/* SPDX-License-Identifier: MIT */
/* test_fd_cache.c - fs/storage/fd_cache.c: few open files at a time, and none while the cache is
 * held closed. */
#include "fs/storage/fd_cache.h"
#include "tests/unit/temp_dir.h"

#define FILES 10

/* A file that counts its openings. */
struct counted {
	struct fd_cache_entry descriptor;
	unsigned opened;
	int fails; /* errno value of the opening, or 0 */
};

static int open_counted(struct fd_cache_entry *descriptor)
{
	struct counted *counted = (struct counted *)descriptor;

	if (counted->fails)
		return counted->fails;
	counted->opened++;
	return open("/dev/null", O_RDONLY | O_CLOEXEC);
}

struct bench {
	struct fd_cache *set;
	struct counted files[FILES];
};

static struct bench bench_of(unsigned most)
{
	struct bench b = { .set = fd_cache_new(most) };

	assert_non_null(b.set);
	for (size_t i = 0; i < FILES; i++)
		b.files[i].descriptor = (struct fd_cache_entry){ .fd = -1, .open = open_counted };
	return b;
}

static void touch(struct bench *b, size_t i)
{
	assert_true(fd_cache_get(b->set, &b->files[i].descriptor) >= 0);
	fd_cache_put(b->set, &b->files[i].descriptor);
}

static unsigned open_files(const struct bench *b)
{
	unsigned n = 0;

	for (size_t i = 0; i < FILES; i++)
		n += b->files[i].descriptor.fd >= 0;
	return n;
}

static void release(struct bench *b)
{
	for (size_t i = 0; i < FILES; i++)
		fd_cache_remove(b->set, &b->files[i].descriptor);
	assert_int_equal(open_files(b), 0);
	fd_cache_unref(b->set);
}

static void open_files_stay_within_the_limit(void **state)
{
	struct bench b = bench_of(3);

	(void)state;
	for (size_t round = 0; round < 3; round++) {
		for (size_t i = 0; i < FILES; i++) {
			touch(&b, i);
			assert_true(open_files(&b) <= 3);
		}
	}
	assert_int_equal(open_files(&b), 3);
	release(&b);
}

static void least_recently_used_file_is_closed(void **state)
{
	struct bench b = bench_of(3);

	(void)state;
	touch(&b, 0);
	touch(&b, 1);
	touch(&b, 2);
	touch(&b, 0);
	touch(&b, 3);
	assert_true(b.files[0].descriptor.fd >= 0);
	assert_int_equal(b.files[1].descriptor.fd, -1);
	touch(&b, 0);
	assert_int_equal(b.files[0].opened, 1);
	release(&b);
}

static void held_descriptors_stay_open(void **state)
{
	struct bench b = bench_of(2);
	int fds[5];

	(void)state;
	for (size_t i = 0; i < 5; i++)
		fds[i] = fd_cache_get(b.set, &b.files[i].descriptor);
	for (size_t i = 0; i < 5; i++) {
		assert_true(fds[i] >= 0);
		assert_int_equal(fcntl(fds[i], F_GETFD), FD_CLOEXEC);
		assert_int_equal(fd_cache_get(b.set, &b.files[i].descriptor), fds[i]);
		fd_cache_put(b.set, &b.files[i].descriptor);
	}
	assert_int_equal(open_files(&b), 5);
	for (size_t i = 0; i < 5; i++)
		fd_cache_put(b.set, &b.files[i].descriptor);
	assert_int_equal(open_files(&b), 2);
	release(&b);
}

static void open_descriptor_can_be_added(void **state)
{
	struct bench b = bench_of(2);

	(void)state;
	for (size_t i = 0; i < 4; i++) {
		b.files[i].descriptor.fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
		fd_cache_add(b.set, &b.files[i].descriptor);
	}
	assert_int_equal(open_files(&b), 2);
	touch(&b, 3);
	assert_int_equal(b.files[3].opened, 0);
	touch(&b, 0);
	assert_int_equal(b.files[0].opened, 1);
	release(&b);
}

static void failed_open_returns_its_error(void **state)
{
	struct bench b = bench_of(2);

	(void)state;
	b.files[0].fails = -ESTALE;
	assert_int_equal(fd_cache_get(b.set, &b.files[0].descriptor), -ESTALE);
	b.files[0].fails = 0;
	touch(&b, 0);
	release(&b);
}

static void free_waits_for_held_descriptors(void **state)
{
	struct bench b = bench_of(2);
	int fd;

	(void)state;
	fd = fd_cache_get(b.set, &b.files[0].descriptor);
	fd_cache_remove(b.set, &b.files[0].descriptor);
	assert_int_equal(fcntl(fd, F_GETFD), FD_CLOEXEC);
	assert_int_equal(fd_cache_get(b.set, &b.files[0].descriptor), -ENOENT);
	fd_cache_put(b.set, &b.files[0].descriptor);
	assert_int_equal(b.files[0].descriptor.fd, -1);
	assert_int_equal(fd_cache_get(b.set, &b.files[0].descriptor), -ENOENT);
	release(&b);
}

static void get_open_returns_open_descriptors_only(void **state)
{
	struct bench b = bench_of(2);
	struct fd_cache_entry *first = &b.files[0].descriptor;

	(void)state;
	assert_int_equal(fd_cache_get_open(b.set, first), -EAGAIN);
	touch(&b, 0);
	assert_int_equal(fd_cache_get_open(b.set, first), first->fd);
	assert_int_equal(b.files[0].opened, 1);
	/* A held descriptor stays open. */
	touch(&b, 1);
	touch(&b, 2);
	assert_true(first->fd >= 0);
	fd_cache_put(b.set, first);
	touch(&b, 3);
	touch(&b, 4);
	assert_int_equal(fd_cache_get_open(b.set, first), -EAGAIN);
	touch(&b, 0);
	fd_cache_remove(b.set, first);
	assert_int_equal(fd_cache_get_open(b.set, first), -EAGAIN);
	release(&b);
}

UNIT_MAIN(NULL, NULL)

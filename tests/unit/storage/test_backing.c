/* SPDX-License-Identifier: MIT */
/* test_backing.c - fs/storage/backing.c: reads after the file on disk has changed. */
#include "fs/storage/backing.h"
#include "fs/util/log.h"
#include "tests/unit/preadv_error.h"
#include "tests/unit/zstd_file.h"

#include <sys/mman.h>

static const char ten[] = "0123456789";

static struct backing *open_ten(void **state)
{
	struct backing *backing;

	write_file(in_temp(state, "file").text, ten, 10);
	backing = backing_open(in_temp(state, "file").text, NULL);
	assert_non_null(backing);
	return backing;
}

/* Read from the middle of open_ten(). */
static int read_some(struct backing *backing)
{
	char bytes[4] = "";
	const int rc = backing_read(backing, bytes, 4, 3);

	if (rc == 0)
		assert_memory_equal(bytes, "3456", 4);
	return rc;
}

static void every_range_of_the_file_can_be_read(void **state)
{
	struct backing *backing = open_ten(state);
	char bytes[10];

	assert_int_equal(backing_size(backing), 10);
	for (size_t from = 0; from <= 10; from++) {
		for (size_t n = 0; n <= 10 - from; n++) {
			assert_int_equal(backing_read(backing, bytes, n, from), 0);
			assert_memory_equal(bytes, ten + from, n);
		}
	}
	backing_unref(backing);
}

static void read_past_the_end_fails_without_short_read(void **state)
{
	struct backing *backing = open_ten(state);
	char bytes[20];

	assert_int_equal(backing_read(backing, bytes, 11, 0), -EIO);
	assert_int_equal(backing_read(backing, bytes, 1, 10), -EIO);
	assert_int_equal(backing_read(backing, bytes, 2, 9), -EIO);
	assert_int_equal(backing_read(backing, bytes, 1, INT64_MAX), -EIO);
	assert_int_equal(backing_read(backing, bytes, 8, UINT64_MAX), -EIO);
	assert_int_equal(backing_read(backing, bytes, 8, UINT64_MAX - 7), -EIO);
	backing_unref(backing);
}

static void a_file_that_has_shrunk_cannot_be_read_any_more(void **state)
{
	struct backing *backing = open_ten(state);

	assert_int_equal(read_some(backing), 0);
	assert_int_equal(truncate(in_temp(state, "file").text, 9), 0);
	assert_int_equal(read_some(backing), -EIO);
	assert_int_equal(backing_size(backing), 10);
	backing_unref(backing);
}

static void a_file_that_has_grown_cannot_be_read_any_more(void **state)
{
	struct backing *backing = open_ten(state);

	assert_int_equal(truncate(in_temp(state, "file").text, 11), 0);
	assert_int_equal(read_some(backing), -EIO);
	backing_unref(backing);
}

static void a_file_that_was_written_to_cannot_be_read_any_more(void **state)
{
	struct backing *backing = open_ten(state);
	const int fd = open(in_temp(state, "file").text, O_WRONLY);

	assert_int_equal(pwrite(fd, "x", 1, 9), 1);
	close(fd);
	assert_int_equal(read_some(backing), -EIO);
	backing_unref(backing);
}

static void a_file_that_was_renamed_or_removed_stays_readable(void **state)
{
	struct backing *backing = open_ten(state);

	assert_int_equal(rename(in_temp(state, "file").text, in_temp(state, "moved").text), 0);
	assert_int_equal(read_some(backing), 0);
	assert_int_equal(unlink(in_temp(state, "moved").text), 0);
	assert_int_equal(read_some(backing), 0);
	backing_unref(backing);
}

static void a_file_that_another_was_renamed_over_stays_readable(void **state)
{
	struct backing *backing = open_ten(state);

	write_text(in_temp(state, "other").text, "not these ten");
	assert_int_equal(rename(in_temp(state, "other").text, in_temp(state, "file").text), 0);
	assert_int_equal(read_some(backing), 0);
	backing_unref(backing);
}

static void file_that_is_not_regular_is_refused_at_once(void **state)
{
	struct error err = { 0 };
	int opens;

	assert_null(backing_open(in_temp(state, "").text, &err));
	assert_int_equal(err.code, EINVAL);
	opens = watched_fifo(in_temp(state, "fifo").text);
	assert_null(backing_open(in_temp(state, "fifo").text, &err));
	assert_int_equal(err.code, EINVAL);
	/* The FIFO was not opened, because such a path could be a device. */
	assert_unopened(opens);
	assert_null(backing_open("/dev/null", &err));
	assert_int_equal(err.code, EINVAL);
	assert_int_not_equal(err.text[0], '\0');
}

static void a_file_that_is_not_there_is_refused_as_open_does(void **state)
{
	struct error err = { 0 };

	assert_null(backing_open(in_temp(state, "nothing").text, &err));
	assert_int_equal(err.code, ENOENT);
	assert_null(backing_open(in_temp(state, "nothing").text, NULL));
	write_text(in_temp(state, "file").text, ten);
	assert_null(backing_open(in_temp(state, "file/below").text, &err));
	assert_int_equal(err.code, ENOTDIR);
}

static void the_path_is_absolute_and_without_links(void **state)
{
	struct backing *backing = open_ten(state), *same;
	char *real = realpath(in_temp(state, "file").text, NULL);

	assert_int_equal(symlink("file", in_temp(state, "link").text), 0);
	same = backing_open(in_temp(state, "link").text, NULL);
	assert_non_null(same);
	assert_string_equal(backing_path(backing), real);
	assert_string_equal(backing_path(same), real);
	assert_int_equal(backing_stat(same)->st_ino, backing_stat(backing)->st_ino);
	free(real);
	backing_unref(same);
	backing_unref(backing);
}

static void recent_stat_is_reused(void **state)
{
	struct backing *backing = open_ten(state), *same;
	const char *link = in_temp(state, "link").text;
	struct stat seen = *backing_stat(backing);
	struct error err = { 0 };

	/* The path is not resolved, unless the file turns out to be a link. */
	same = backing_open_seen(in_temp(state, "./file").text, NULL, true, NULL);
	assert_string_equal(backing_path(same), in_temp(state, "./file").text);
	backing_unref(same);
	assert_int_equal(symlink("file", link), 0);
	same = backing_open_seen(link, &seen, true, NULL);
	assert_string_equal(strrchr(backing_path(same), '/'), "/file");
	backing_unref(same);
	assert_null(backing_open_seen(link, NULL, true, &err));
	assert_int_equal(err.code, ELOOP);
	seen.st_mode = S_IFIFO;
	assert_null(backing_open_seen(link, &seen, true, &err));
	assert_int_equal(err.code, EINVAL);
	backing_unref(backing);
}

static void a_descriptor_becomes_the_backings_also_on_failure(void **state)
{
	const int directory = open(in_temp(state, "").text, O_RDONLY | O_DIRECTORY);
	struct backing *backing;
	int fd;

	assert_null(backing_fdopen(directory, in_temp(state, "").text, NULL));
	assert_int_equal(fcntl(directory, F_GETFD), -1);
	write_file(in_temp(state, "file").text, ten, 10);
	fd = open(in_temp(state, "file").text, O_RDONLY);
	backing = backing_fdopen(fd, in_temp(state, "file").text, NULL);
	assert_int_equal(backing_fd_get(backing), fd);
	assert_int_equal(read_some(backing), 0);
	backing_unref(backing);
	assert_int_equal(fcntl(fd, F_GETFD), -1);
}

static void cached_bytes_are_not_far(void **state)
{
	const int fd = memfd_create("ten", MFD_CLOEXEC);
	struct backing *backing;

	(void)state;
	must(fd >= 0 && write(fd, ten, 10) == 10);
	backing = backing_fdopen(fd, "/ten", NULL);
	assert_non_null(backing);
	for (uint64_t at = 0; at < 10; at++)
		assert_false(backing_is_uncached(backing, at));
	assert_false(backing_is_uncached(backing, INT64_MAX));
	assert_false(backing_is_uncached(backing, UINT64_MAX));
	backing_unref(backing);
}

/* Without RWF_NOWAIT the page cache decides: a hole has no cached pages. */
static void bytes_on_disk_are_far(void **state)
{
	const int fd = memfd_create("hole", MFD_CLOEXEC);
	struct backing *backing;

	(void)state;
	must(fd >= 0 && ftruncate(fd, 10) == 0);
	backing = backing_fdopen(fd, "/hole", NULL);
	assert_non_null(backing);
	preadv_error = EAGAIN;
	assert_true(backing_is_uncached(backing, 3));
	preadv_error = EIO;
	assert_false(backing_is_uncached(backing, 3));
	preadv_error = EOPNOTSUPP;
	assert_true(backing_is_uncached(backing, 3));
	must(pwrite(fd, ten, 10, 0) == 10);
	assert_false(backing_is_uncached(backing, 3));
	preadv_error = 0;
	backing_unref(backing);
}

static void last_unref_closes_the_file(void **state)
{
	struct backing *backing = open_ten(state);
	const int fd = backing_fd_get(backing);

	assert_ptr_equal(backing_ref(backing), backing);
	backing_unref(backing);
	assert_int_equal(read_some(backing), 0);
	backing_unref(backing);
	assert_int_equal(fcntl(fd, F_GETFD), -1);
	backing_unref(NULL);
}

static void an_empty_file_can_be_opened(void **state)
{
	struct backing *backing;

	write_text(in_temp(state, "file").text, "");
	backing = backing_open(in_temp(state, "file").text, NULL);
	assert_non_null(backing);
	assert_int_equal(backing_size(backing), 0);
	assert_int_equal(backing_read(backing, NULL, 0, 0), 0);
	backing_unref(backing);
}

static void a_source_reads_the_same_bytes(void **state)
{
	struct backing *backing = open_ten(state);
	const struct source source = backing_source(backing);
	char bytes[10];

	assert_int_equal(source.size, 10);
	assert_int_equal(source.read_at(source.context, bytes, 5, 5), 0);
	assert_memory_equal(bytes, "56789", 5);
	assert_int_equal(truncate(in_temp(state, "file").text, 9), 0);
	assert_int_equal(source.read_at(source.context, bytes, 5, 0), -EIO);
	backing_unref(backing);
}

/* ## backings over other files */

static int keep_flags(void *context, unsigned flags, void *bytes, size_t n, uint64_t offset,
		      const atomic_bool *stop)
{
	(void)bytes;
	(void)n;
	(void)offset;
	(void)stop;
	*(unsigned *)context = flags;
	return 0;
}

static struct backing *no_part(void *context, uint64_t *offset, uint64_t *length)
{
	(void)context;
	(void)offset;
	(void)length;
	return NULL;
}

static void release_nothing(void *context)
{
	(void)context;
}

/* Flags that reach the operation. */
static unsigned flags_of(const struct backing_ops *ops, unsigned flags)
{
	const struct stat stat = { .st_size = 10 };
	struct backing *backing = backing_from_ops(ops, "made", &stat);
	char byte;

	assert_non_null(backing);
	assert_int_equal(backing_read_with(backing, flags, &byte, 1, 0), 0);
	backing_unref(backing);
	return *(unsigned *)ops->context;
}

static void only_parts_of_files_are_read_without_leaving_pages(void **state)
{
	unsigned flags = 0;
	struct backing_ops ops = {
		.read = keep_flags,
		.release = release_nothing,
		.context = &flags,
	};

	(void)state;
	assert_int_equal(flags_of(&ops, BACKING_SPANS | BACKING_UNCHECKED), BACKING_SPANS);
	/* Computed bytes are read ahead, as are whole blocks of a file on a server. */
	assert_int_equal(flags_of(&ops, BACKING_PASSING | BACKING_SPANS), 0);
	ops.part = no_part;
	assert_int_equal(flags_of(&ops, BACKING_PASSING | BACKING_SPANS),
			 BACKING_PASSING | BACKING_SPANS);
	assert_int_equal(flags_of(&ops, BACKING_PASSING | BACKING_AT_ONCE),
			 BACKING_PASSING | BACKING_AT_ONCE);
}

/* A read that may wait is not begun; that is no failure. */
static void read_at_once_fails_with_eagain_unless_it_is_a_base(void **state)
{
	struct backing *backing = open_ten(state);
	const struct stat stat = { .st_size = 10 };
	unsigned flags = 0;
	const struct backing_ops ops = { .read = keep_flags,
					 .release = release_nothing,
					 .context = &flags };
	struct backing *made = backing_from_ops(&ops, "made", &stat);
	const unsigned at_once = BACKING_PASSING | BACKING_AT_ONCE;
	char byte;

	assert_non_null(made);
	assert_int_equal(backing_read_with(backing, at_once, &byte, 1, 0), -EAGAIN);
	assert_int_equal(backing_read_with(made, at_once, &byte, 1, 0), -EAGAIN);
	assert_int_equal(flags, 0);
	assert_false(backing_has_failed(backing));
	assert_int_equal(backing_read(backing, &byte, 1, 0), 0);
	backing_unref(made);
	backing_unref(backing);
}

/* ## files of frames */

#define PACKED_SIZE (ZSTD_FRAME_BYTES + 1000)

struct packed {
	struct zstd_cache *cache;
	struct log *log;
	struct backing *backing;
	uint8_t *bytes;
};

static struct packed open_packed(void **state)
{
	struct packed packed = { .cache = zstd_cache_new(),
				 .log = log_new(true),
				 .bytes = mk_shrinking(PACKED_SIZE, 7) };

	must(packed.cache && packed.log);
	save_frames(state, "packed", packed.bytes, PACKED_SIZE, 1);
	packed.backing = backing_fdopen_zstd(open(in_temp(state, "packed").text, O_RDONLY), "/p",
					     packed.cache, NULL);
	must(packed.backing);
	backing_set_log(packed.backing, packed.log);
	return packed;
}

static void close_packed(struct packed *packed)
{
	backing_unref(packed->backing);
	zstd_cache_unref(packed->cache);
	log_free(packed->log);
	free(packed->bytes);
}

static void assert_said(struct log *log, uint64_t count, const char *words)
{
	size_t size;
	char *text = log_text(log, &size);

	must(text);
	assert_int_equal(log_count(log), count);
	if (count && !strstr(text, words))
		fail_msg("\"%s\" is not in: %s", words, text);
	free(text);
}

static void file_of_frames_has_decompressed_size_and_bytes(void **state)
{
	struct packed packed = open_packed(state);
	struct source source = backing_source(packed.backing);
	char bytes[2000];

	assert_int_equal(backing_size(packed.backing), PACKED_SIZE);
	assert_int_equal(source.size, PACKED_SIZE);
	assert_true(backing_stat(packed.backing)->st_size < (off_t)PACKED_SIZE);
	assert_false(backing_is_plain(packed.backing));
	assert_int_equal(backing_read(packed.backing, bytes, 2000, ZSTD_FRAME_BYTES - 1000), 0);
	assert_memory_equal(bytes, packed.bytes + ZSTD_FRAME_BYTES - 1000, 2000);
	assert_int_equal(source.read_at(source.context, bytes, 2000, 17), 0);
	assert_memory_equal(bytes, packed.bytes + 17, 2000);
	assert_int_equal(backing_read(packed.backing, bytes, 1, PACKED_SIZE), -EIO);
	close_packed(&packed);
}

static void a_file_of_frames_that_was_changed_cannot_be_read_any_more(void **state)
{
	struct packed packed = open_packed(state);
	char byte;

	assert_int_equal(backing_read(packed.backing, &byte, 1, 0), 0);
	assert_int_equal(truncate(in_temp(state, "packed").text, 1000), 0);
	/* Reads of cached bytes fail too. */
	assert_int_equal(backing_read(packed.backing, &byte, 1, 0), -EIO);
	assert_int_equal(backing_read(packed.backing, &byte, 1, PACKED_SIZE - 1), -EIO);
	assert_true(backing_has_failed(packed.backing));
	assert_true(backing_was_changed(packed.backing));
	assert_said(packed.log, 1, "/p: cannot be read: the file was changed");
	close_packed(&packed);
}

static void corrupt_frame_is_logged_once(void **state)
{
	struct packed packed = open_packed(state);
	const struct timespec old[2] = { backing_stat(packed.backing)->st_atim,
					 backing_stat(packed.backing)->st_mtim };
	const int fd = open(in_temp(state, "packed").text, O_RDWR);
	char byte;

	assert_int_equal(pwrite(fd, "xxxx", 4, 1000), 4);
	assert_int_equal(futimens(fd, old), 0);
	close(fd);
	assert_said(packed.log, 0, "");
	for (int i = 0; i < 3; i++)
		assert_int_equal(backing_read(packed.backing, &byte, 1, 0), -EIO);
	assert_said(packed.log, 1, "/p: cannot be read: at byte 0: frame 0 ");
	assert_int_equal(backing_read(packed.backing, &byte, 1, ZSTD_FRAME_BYTES), 0);
	close_packed(&packed);
}

/* ## expected hash */

static void first_read_alone_verifies_the_whole_file(void **state)
{
	struct backing *backing = open_ten(state);
	char right[XXH128_TEXT];

	xxh128_text(XXH3_128bits(ten, 10), right);
	assert_false(backing_is_unverified(backing));
	backing_expect_hash(backing, right);
	assert_true(backing_is_unverified(backing));
	assert_int_equal(read_some(backing), 0);
	assert_false(backing_is_unverified(backing));
	assert_int_equal(backing_verify(backing, NULL), 0);
	backing_unref(backing);
}

static void content_with_unexpected_hash_cannot_be_read(void **state)
{
	struct backing *backing = open_ten(state);
	struct log *log = log_new(true);
	char wrong[XXH128_TEXT];

	xxh128_text(XXH3_128bits(ten, 9), wrong);
	backing_set_log(backing, log);
	backing_expect_hash(backing, wrong);
	assert_int_equal(read_some(backing), -EIO);
	assert_int_equal(read_some(backing), -EIO);
	assert_int_equal(backing_verify(backing, NULL), -EIO);
	assert_true(backing_has_failed(backing));
	assert_false(backing_was_changed(backing));
	assert_said(log, 1, wrong);
	backing_unref(backing);
	log_free(log);
}

static void a_verification_can_be_stopped_and_begun_anew(void **state)
{
	struct backing *backing = open_ten(state);
	atomic_bool stop = true;
	char right[XXH128_TEXT];

	xxh128_text(XXH3_128bits(ten, 10), right);
	backing_expect_hash(backing, right);
	assert_int_equal(backing_verify(backing, &stop), -EINTR);
	assert_true(backing_is_unverified(backing));
	stop = false;
	assert_int_equal(backing_verify(backing, &stop), 0);
	assert_false(backing_is_unverified(backing));
	assert_false(backing_has_failed(backing));
	backing_unref(backing);
}

static void failed_verification_without_memory_is_repeated(void **state)
{
	struct backing *backing = open_ten(state);
	char right[XXH128_TEXT];

	needs_failing_allocations();
	xxh128_text(XXH3_128bits(ten, 10), right);
	backing_expect_hash(backing, right);
	allocation_fails(1);
	assert_int_equal(read_some(backing), -ENOMEM);
	assert_true(allocation_failed());
	assert_int_equal(read_some(backing), 0);
	backing_unref(backing);
}

UNIT_MAIN(temp_setup, temp_teardown)

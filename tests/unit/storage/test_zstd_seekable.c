/* SPDX-License-Identifier: MIT */
/* test_zstd_seekable.c - fs/storage/zstd_seekable.c: compressed bytes read back the same, in any
 * range and by any number of threads, and damage is reported. */
#include "gguf/bytes.h"
#include "tests/unit/zstd_file.h"

#include <pthread.h>
#include <xxhash.h>
#include <zstd.h>

/* Two frames and a part. */
#define SIZE (2 * ZSTD_FRAME_BYTES + 12345)

struct kept {
	struct zstd_cache *cache;
	struct zstd_seekable *frames;
	struct error err;
	int fd;
};

static struct kept open_kept(void **state, const char *name)
{
	struct kept kept = { .cache = zstd_cache_new() };

	must(kept.cache);
	kept.fd = open(in_temp(state, name).text, O_RDWR);
	must(kept.fd >= 0);
	kept.frames = zstd_seekable_open(kept.fd, kept.cache, &kept.err);
	return kept;
}

static void close_kept(struct kept *kept)
{
	zstd_seekable_close(kept->frames);
	zstd_cache_unref(kept->cache);
	close(kept->fd);
}

static void assert_range(struct kept *kept, const uint8_t *bytes, size_t n, size_t from)
{
	uint8_t *got = malloc(n + 1);

	must(got);
	assert_int_equal(zstd_seekable_read(kept->frames, got, n, from, &kept->err), 0);
	assert_memory_equal(got, bytes + from, n);
	free(got);
}

static void written_bytes_are_read_in_any_range(void **state)
{
	uint8_t *bytes = mk_shrinking(SIZE, 1);
	struct kept kept;

	for (int level = 1; level <= ZSTD_WRITE_LEVEL_MAX; level += 7) {
		save_frames(state, "file", bytes, SIZE, level);
		kept = open_kept(state, "file");
		assert_non_null(kept.frames);
		assert_int_equal(zstd_seekable_size(kept.frames), SIZE);
		assert_range(&kept, bytes, SIZE, 0);
		assert_range(&kept, bytes, 0, SIZE);
		assert_range(&kept, bytes, 1, SIZE - 1);
		assert_range(&kept, bytes, 2, ZSTD_FRAME_BYTES - 1);
		assert_range(&kept, bytes, ZSTD_FRAME_BYTES, ZSTD_FRAME_BYTES);
		assert_range(&kept, bytes, ZSTD_FRAME_BYTES + 2, ZSTD_FRAME_BYTES - 1);
		close_kept(&kept);
	}
	free(bytes);
}

static void a_whole_number_of_frames_and_no_frame_at_all_are_files_too(void **state)
{
	uint8_t *bytes = mk_shrinking(2 * ZSTD_FRAME_BYTES, 1);
	struct kept kept;

	save_frames(state, "file", bytes, 2 * ZSTD_FRAME_BYTES, 1);
	kept = open_kept(state, "file");
	assert_int_equal(zstd_seekable_size(kept.frames), 2 * ZSTD_FRAME_BYTES);
	assert_range(&kept, bytes, 2 * ZSTD_FRAME_BYTES, 0);
	close_kept(&kept);
	save_frames(state, "empty", bytes, 0, 1);
	kept = open_kept(state, "empty");
	assert_int_equal(zstd_seekable_size(kept.frames), 0);
	assert_range(&kept, bytes, 0, 0);
	close_kept(&kept);
	free(bytes);
}

static void read_past_the_end_fails(void **state)
{
	uint8_t *bytes = mk_shrinking(SIZE, 1);
	struct kept kept;

	save_frames(state, "file", bytes, SIZE, 1);
	kept = open_kept(state, "file");
	assert_int_equal(zstd_seekable_read(kept.frames, bytes, 2, SIZE - 1, NULL), -EIO);
	assert_int_equal(zstd_seekable_read(kept.frames, bytes, 1, UINT64_MAX, NULL), -EIO);
	assert_int_equal(zstd_seekable_peek(kept.frames, bytes, 1, UINT64_MAX, NULL), -EIO);
	assert_int_equal(zstd_seekable_peek(kept.frames, bytes, 1, SIZE, NULL), -EIO);
	close_kept(&kept);
	free(bytes);
}

static void peek_equals_a_read(void **state)
{
	uint8_t *bytes = mk_shrinking(SIZE, 1), got[1000];
	static const size_t from[] = {
		0, 1, 70000, ZSTD_SEEKABLE_PEEK - 1000, ZSTD_SEEKABLE_PEEK - 500, SIZE / 2
	};
	struct kept kept;

	save_frames(state, "file", bytes, SIZE, 1);
	kept = open_kept(state, "file");
	for (size_t i = 0; i < ARRAY_LENGTH(from); i++) {
		assert_int_equal(zstd_seekable_peek(kept.frames, got, sizeof(got), from[i], NULL),
				 0);
		assert_memory_equal(got, bytes + from[i], sizeof(got));
	}
	close_kept(&kept);
	free(bytes);
}

static void the_same_bytes_give_the_same_file(void **state)
{
	uint8_t *bytes = mk_shrinking(SIZE, 1);
	size_t n;
	char *one;

	save_frames(state, "one", bytes, SIZE, 3);
	save_frames(state, "other", bytes, SIZE, 3);
	one = read_whole(in_temp(state, "one").text, &n);
	assert_file(in_temp(state, "other").text, one, n);
	free(one);
	free(bytes);
}

static void only_the_last_frame_may_be_short(void **state)
{
	uint8_t *bytes = mk_shrinking(ZSTD_FRAME_BYTES, 1);
	const int fd = open(in_temp(state, "file").text, O_RDWR | O_CREAT, 0600);
	struct zstd_writer *writer = zstd_writer_new(1);

	assert_int_equal(zstd_writer_begin(writer, fd), 0);
	assert_int_equal(zstd_writer_add(writer, bytes, 0), -EINVAL);
	assert_int_equal(zstd_writer_add(writer, bytes, ZSTD_FRAME_BYTES), 0);
	assert_int_equal(zstd_writer_add(writer, bytes, 10), 0);
	assert_int_equal(zstd_writer_add(writer, bytes, 10), -EINVAL);
	zstd_writer_free(writer);
	close(fd);
	free(bytes);
}

static void leading_frame_is_accepted(void **state)
{
	uint8_t *bytes = mk_shrinking(SIZE, 1);
	const int fd = open(in_temp(state, "file").text, O_RDWR | O_CREAT, 0600);
	struct zstd_writer *writer = zstd_writer_new(3);
	int64_t size;
	char *file;
	size_t n;

	assert_int_equal(zstd_writer_add(writer, bytes, ZSTD_FRAME_BYTES), 0);
	assert_int_equal(zstd_writer_add(writer, bytes, ZSTD_FRAME_BYTES), -EINVAL);
	assert_true(zstd_writer_is_worthwhile(writer));
	assert_int_equal(zstd_writer_begin(writer, fd), 0);
	for (size_t at = ZSTD_FRAME_BYTES; at < SIZE; at += ZSTD_FRAME_BYTES)
		assert_int_equal(zstd_writer_add(writer, bytes + at,
						 SIZE - at < ZSTD_FRAME_BYTES ? SIZE - at
									      : ZSTD_FRAME_BYTES),
				 0);
	size = zstd_writer_finish(writer);
	zstd_writer_free(writer);
	close(fd);
	save_frames(state, "same", bytes, SIZE, 3);
	file = read_whole(in_temp(state, "same").text, &n);
	assert_int_equal(size, n);
	assert_file(in_temp(state, "file").text, file, n);
	free(file);
	free(bytes);
}

static bool is_worthwhile(const uint8_t *bytes, size_t n, int level)
{
	struct zstd_writer *writer = zstd_writer_new(level);
	bool is;

	assert_int_equal(zstd_writer_add(writer, bytes, n), 0);
	is = zstd_writer_is_worthwhile(writer);
	zstd_writer_free(writer);
	return is;
}

static void compression_pays_if_it_saves_a_twentieth(void **state)
{
	uint8_t *bytes = mk_random(ZSTD_FRAME_BYTES, 1, 255);

	(void)state;
	assert_false(is_worthwhile(bytes, ZSTD_FRAME_BYTES, 19));
	memset(bytes, 0, ZSTD_FRAME_BYTES / 100 * 4);
	assert_false(is_worthwhile(bytes, ZSTD_FRAME_BYTES, 1));
	memset(bytes, 0, ZSTD_FRAME_BYTES / 100 * 6);
	assert_true(is_worthwhile(bytes, ZSTD_FRAME_BYTES, 1));
	/* A seek table belongs to one file. */
	memset(bytes, 0, 60);
	assert_true(is_worthwhile(bytes, 60, 1));
	assert_false(is_worthwhile(bytes, 40, 1));
	free(bytes);
}

/* ## damaged files */

/* Write a number of that width at that place of the file, counted from the end if negative. */
static void spoil(void **state, long at, size_t width, uint64_t value)
{
	const int fd = open(in_temp(state, "file").text, O_RDWR);
	struct stat stat;
	uint8_t bytes[8];

	store_u64(bytes, value);
	must(fd >= 0 && fstat(fd, &stat) == 0);
	must(pwrite(fd, bytes, width, at < 0 ? stat.st_size + at : at) == (ssize_t)width);
	close(fd);
}

/* Three frames, so that the table is 8 + 3 * 12 + 9 bytes. */
#define TABLE (-53L)

static void assert_table_refused(void **state, long at, size_t width, uint64_t value, long offset,
				 const char *words)
{
	uint8_t *bytes = mk_shrinking(SIZE, 1);
	struct stat status;
	struct kept kept;

	save_frames(state, "file", bytes, SIZE, 1);
	spoil(state, at, width, value);
	must(stat(in_temp(state, "file").text, &status) == 0);
	kept = open_kept(state, "file");
	assert_null(kept.frames);
	assert_refused(-EBADMSG, &kept.err, EBADMSG, (uint64_t)(status.st_size + offset));
	if (!strstr(kept.err.text, words))
		fail_msg("\"%s\" is not in: %s", words, kept.err.text);
	close_kept(&kept);
	free(bytes);
}

static void a_wrong_table_is_refused_at_its_place(void **state)
{
	assert_table_refused(state, -1, 1, 0, -4, "does not end with a table");
	assert_table_refused(state, -5, 1, 0, -5, "no checksums");
	assert_table_refused(state, -5, 1, 0x84, -5, "unknown format");
	assert_table_refused(state, -9, 4, UINT32_MAX, -9, "of 4294967295 frames");
	assert_table_refused(state, -9, 4, ZSTD_SEEKABLE_FRAMES_MAX + 1, -9, "frames");
	assert_table_refused(state, -9, 4, 2, TABLE + 12, "no table of frames begins here");
	assert_table_refused(state, -9, 4, 4, TABLE - 12, "no table of frames begins here");
	assert_table_refused(state, TABLE, 4, 0, TABLE, "no table of frames begins here");
	assert_table_refused(state, TABLE + 4, 4, 46, TABLE, "no table of frames begins here");
}

static void a_wrong_entry_is_refused_at_its_place(void **state)
{
	const long second = TABLE + 8 + 12, third = second + 12;

	assert_table_refused(state, second, 4, 0, second, "frame 1 cannot have 0 bytes");
	assert_table_refused(state, second, 4, UINT32_MAX, second,
			     "frame 1 cannot have 4294967295");
	assert_table_refused(state, second, 4, 1000, TABLE, "the frames are");
	assert_table_refused(state, second + 4, 4, ZSTD_FRAME_BYTES - 1, second + 4,
			     "frame 1 holds 1048575 bytes");
	assert_table_refused(state, second + 4, 4, ZSTD_FRAME_BYTES + 1, second + 4, "holds");
	assert_table_refused(state, third + 4, 4, 0, third + 4, "frame 2 holds 0");
	assert_table_refused(state, third + 4, 4, UINT32_MAX, third + 4, "frame 2 holds");
}

static void a_file_that_was_cut_off_is_refused(void **state)
{
	uint8_t *bytes = mk_shrinking(SIZE, 1);
	struct stat status;
	struct kept kept;

	save_frames(state, "file", bytes, SIZE, 1);
	must(stat(in_temp(state, "file").text, &status) == 0);
	for (off_t size = status.st_size - 1; size > 0; size -= size > 100 ? 40009 : 1) {
		must(truncate(in_temp(state, "file").text, size) == 0);
		kept = open_kept(state, "file");
		assert_null(kept.frames);
		assert_int_equal(kept.err.code, EBADMSG);
		close_kept(&kept);
	}
	free(bytes);
}

static void assert_first_frame_bad(void **state, const char *words)
{
	struct kept kept = open_kept(state, "file");
	uint8_t byte;

	assert_non_null(kept.frames);
	for (int i = 0; i < 2; i++) {
		kept.err.code = 0;
		assert_refused(zstd_seekable_read(kept.frames, &byte, 1, 5, &kept.err), &kept.err,
			       EIO, 0);
		if (!strstr(kept.err.text, words))
			fail_msg("\"%s\" is not in: %s", words, kept.err.text);
	}
	/* Other frames are still readable. */
	assert_int_equal(zstd_seekable_read(kept.frames, &byte, 1, ZSTD_FRAME_BYTES, &kept.err), 0);
	assert_int_equal(zstd_seekable_read(kept.frames, &byte, 1, SIZE - 1, &kept.err), 0);
	close_kept(&kept);
}

static void frame_that_contradicts_the_table_is_refused(void **state)
{
	uint8_t *bytes = mk_shrinking(SIZE, 1);

	save_frames(state, "file", bytes, SIZE, 1);
	spoil(state, TABLE + 8 + 8, 4, 0);
	assert_first_frame_bad(state, "frame 0 does not match");
	save_frames(state, "file", bytes, SIZE, 1);
	spoil(state, 5000, 8, 0);
	assert_first_frame_bad(state, "frame 0");
	save_frames(state, "file", bytes, SIZE, 1);
	spoil(state, 0, 4, 0);
	assert_first_frame_bad(state, "frame 0 cannot be decompressed");
	free(bytes);
}

/* Save a file of one frame made by hand: packed bytes, and their entry in the table. */
static void save_one_frame(void **state, const void *packed, size_t n, uint32_t holds, uint32_t sum)
{
	uint8_t file[4096], *at = file;

	must(n + 29 <= sizeof(file));
	at = store_bytes(at, packed, n);
	at = store_u32(at, ZSTD_SEEKABLE_TABLE_MAGIC);
	at = store_u32(at, ZSTD_SEEKABLE_ENTRY + ZSTD_SEEKABLE_FOOTER);
	at = store_u32(at, (uint32_t)n);
	at = store_u32(at, holds);
	at = store_u32(at, sum);
	at = store_u32(at, 1);
	*at++ = ZSTD_SEEKABLE_CHECKSUM_FLAG;
	at = store_u32(at, ZSTD_SEEKABLE_FOOTER_MAGIC);
	write_file(in_temp(state, "file").text, file, (size_t)(at - file));
}

static void a_frame_that_holds_more_than_it_may_is_refused(void **state)
{
	const size_t n = (size_t)64 << 20;
	uint8_t *zeros = calloc(1, n), byte, packed[4096];
	ZSTD_CCtx *zstd = ZSTD_createCCtx();
	struct kept kept;
	size_t size;

	must(zeros && zstd);
	ZSTD_CCtx_setParameter(zstd, ZSTD_c_windowLog, 26);
	size = ZSTD_compress2(zstd, packed, sizeof(packed), zeros, n);
	ZSTD_freeCCtx(zstd);
	assert_false(ZSTD_isError(size));
	save_one_frame(state, packed, size, ZSTD_FRAME_BYTES,
		       (uint32_t)XXH64(zeros, ZSTD_FRAME_BYTES, 0));
	kept = open_kept(state, "file");
	assert_non_null(kept.frames);
	assert_int_equal(zstd_seekable_read(kept.frames, &byte, 1, 0, &kept.err), -EIO);
	/* The frame does not get the memory that it asks for. */
	assert_int_equal(zstd_seekable_peek(kept.frames, &byte, 1, 0, &kept.err), -EIO);
	close_kept(&kept);
	free(zeros);
}

/* zstd -19 compresses a pipe with a window of 8 MiB. */
static void a_frame_that_asks_for_more_than_it_holds_is_read(void **state)
{
	const size_t n = ZSTD_FRAME_BYTES / 2;
	uint8_t *bytes = malloc(n), packed[4000], got[100];
	ZSTD_CCtx *zstd = ZSTD_createCCtx();
	ZSTD_inBuffer in = { bytes, n, 0 };
	ZSTD_outBuffer out = { packed, sizeof(packed), 0 };
	struct kept kept;

	must(bytes && zstd);
	for (size_t i = 0; i < n; i++)
		bytes[i] = (uint8_t)(i >> 10);
	ZSTD_CCtx_setParameter(zstd, ZSTD_c_windowLog, 23);
	must(ZSTD_compressStream2(zstd, &out, &in, ZSTD_e_flush) == 0);
	must(ZSTD_compressStream2(zstd, &out, &in, ZSTD_e_end) == 0);
	ZSTD_freeCCtx(zstd);
	save_one_frame(state, packed, out.pos, (uint32_t)n, (uint32_t)XXH64(bytes, n, 0));
	kept = open_kept(state, "file");
	assert_non_null(kept.frames);
	assert_int_equal(zstd_seekable_read(kept.frames, got, sizeof(got), 1000, &kept.err), 0);
	assert_memory_equal(got, bytes + 1000, sizeof(got));
	assert_int_equal(zstd_seekable_peek(kept.frames, got, sizeof(got), 2000, &kept.err), 0);
	assert_memory_equal(got, bytes + 2000, sizeof(got));
	close_kept(&kept);
	free(bytes);
}

static void a_frame_that_holds_less_than_it_should_is_refused(void **state)
{
	uint8_t byte, packed[100];
	struct kept kept;

	save_one_frame(state, packed, ZSTD_compress(packed, sizeof(packed), "abc", 3, 1), 4,
		       (uint32_t)XXH64("abc", 3, 0));
	kept = open_kept(state, "file");
	assert_non_null(kept.frames);
	assert_int_equal(zstd_seekable_read(kept.frames, &byte, 1, 0, &kept.err), -EIO);
	assert_int_equal(zstd_seekable_peek(kept.frames, &byte, 1, 0, &kept.err), 0);
	assert_int_equal(zstd_seekable_peek(kept.frames, packed, 4, 0, &kept.err), -EIO);
	close_kept(&kept);
}

/* ## many readers */

#define FILES 3

struct read_job {
	struct kept *kept;
	uint8_t **bytes;
	uint32_t seed;
	bool good;
};

static void *read_about(void *argument)
{
	struct read_job *r = argument;
	uint8_t *got = malloc(ZSTD_FRAME_BYTES);

	r->good = true;
	for (uint32_t i = 0; i < 60; i++) {
		const uint32_t draw = (uint32_t)mk_byte(r->seed, i * 4) << 16 |
				      (uint32_t)mk_byte(r->seed, i * 4 + 1) << 8 |
				      mk_byte(r->seed, i * 4 + 2);
		const size_t which = draw % FILES, from = draw % (20 * ZSTD_FRAME_BYTES);
		const size_t n = mk_byte(r->seed, i * 4 + 3) * 1000u;

		if (zstd_seekable_read(r->kept[which].frames, got, n, from, NULL) < 0 ||
		    memcmp(got, r->bytes[which] + from, n) != 0)
			r->good = false;
	}
	free(got);
	return NULL;
}

/* There are more frames than the cache has, and more threads than may decompress at once. */
static void many_threads_may_read_many_frames(void **state)
{
	const size_t size = 21 * ZSTD_FRAME_BYTES;
	struct zstd_cache *cache = zstd_cache_new();
	struct read_job measures[24];
	pthread_t threads[24];
	struct kept kept[FILES];
	uint8_t *bytes[FILES];

	for (uint32_t i = 0; i < FILES; i++) {
		bytes[i] = mk_shrinking(size, i);
		save_frames(state, "file", bytes[i], size, 1);
		kept[i].fd = open(in_temp(state, "file").text, O_RDONLY);
		unlink(in_temp(state, "file").text);
		kept[i].frames = zstd_seekable_open(kept[i].fd, cache, NULL);
		kept[i].cache = zstd_cache_ref(cache);
		assert_non_null(kept[i].frames);
	}
	zstd_cache_unref(cache);
	for (uint32_t i = 0; i < ARRAY_LENGTH(threads); i++) {
		measures[i] = (struct read_job){ .kept = kept, .bytes = bytes, .seed = i };
		assert_int_equal(pthread_create(&threads[i], NULL, read_about, &measures[i]), 0);
	}
	for (size_t i = 0; i < ARRAY_LENGTH(threads); i++)
		pthread_join(threads[i], NULL);
	for (size_t i = 0; i < ARRAY_LENGTH(threads); i++)
		assert_true(measures[i].good);
	for (size_t i = 0; i < FILES; i++) {
		close_kept(&kept[i]);
		free(bytes[i]);
	}
}

/* ## no memory */

static void without_memory_nothing_is_opened_or_read(void **state)
{
	uint8_t *bytes = mk_shrinking(SIZE, 1), byte;

	needs_failing_allocations();
	save_frames(state, "file", bytes, SIZE, 1);
	for (uint64_t k = 1;; k++) {
		struct kept kept = open_kept(state, "file");
		struct zstd_seekable *frames;
		bool failed;
		int rc;

		zstd_seekable_close(kept.frames);
		allocation_fails(k);
		kept.frames = frames = zstd_seekable_open(kept.fd, kept.cache, &kept.err);
		rc = frames ? zstd_seekable_read(frames, &byte, 1, 0, &kept.err) : -kept.err.code;
		failed = allocation_failed();
		if (failed)
			assert_int_equal(rc, -ENOMEM);
		if (failed && frames)
			assert_int_equal(zstd_seekable_read(frames, &byte, 1, 0, &kept.err), 0);
		close_kept(&kept);
		if (!failed) {
			assert_int_equal(rc, 0);
			break;
		}
	}
	free(bytes);
}

UNIT_MAIN(temp_setup, temp_teardown)

/* SPDX-License-Identifier: MIT */
/* test_copy_range.c - fs/assemble/copy_range.c: each way, its fallback, and the errors
 * that it reports. */
#include "fs/assemble/copy_range.h"
#include "fs/util/progress.h"
#include "tests/unit/reflink.h"

#define SIZE (64 * BLOCK + 100)

/* A file to share with, a file to fill, and the expected bytes of the latter. */
struct scene {
	uint8_t *source, *expected;
	int from;
	struct progress progress;
	struct copy_range share;
};

static struct scene *open_scene(void **state)
{
	struct scene *scene = calloc(1, sizeof(*scene));
	int fd;

	filesystem_begin();
	scene->source = malloc(SIZE);
	scene->expected = calloc(1, SIZE);
	for (size_t i = 0; i < SIZE; i++)
		scene->source[i] = mk_byte(5, i);
	write_file(in_temp(state, "source").text, scene->source, SIZE);
	scene->from = open(in_temp(state, "source").text, O_RDONLY);
	fd = open(in_temp(state, "filled").text, O_RDWR | O_CREAT | O_EXCL, 0600);
	must(scene->from >= 0 && fd >= 0 && ftruncate(fd, SIZE) == 0);
	assert_int_equal(copy_range_init(&scene->share, fd, &scene->progress), 0);
	assert_int_equal(scene->share.block, BLOCK);
	return scene;
}

/* Check the file's bytes, and the counts of shared and copied bytes. */
static void close_scene(void **state, struct scene *scene, uint64_t shared, uint64_t copied,
			uint64_t written)
{
	assert_file(in_temp(state, "filled").text, scene->expected, SIZE);
	assert_int_equal(scene->progress.shared, shared);
	assert_int_equal(scene->progress.copied, copied);
	assert_int_equal(scene->progress.written, written);
	assert_int_equal(scene->progress.done, shared + copied + written);
	close(scene->share.fd);
	close(scene->from);
	copy_range_release(&scene->share);
	free(scene->source);
	free(scene->expected);
	free(scene);
}

/* Expect n bytes from offset at position at. */
static void expect(struct scene *scene, uint64_t offset, uint64_t n, uint64_t at)
{
	memcpy(scene->expected + at, scene->source + offset, n);
}

static void a_whole_file_is_shared(void **state)
{
	struct scene *scene = open_scene(state);

	assert_int_equal(copy_range_clone_file(&scene->share, scene->from), 1);
	expect(scene, 0, SIZE, 0);
	close_scene(state, scene, 0, 0, 0);
}

static void whole_blocks_of_a_range_are_shared(void **state)
{
	struct scene *scene = open_scene(state);
	const uint64_t n = 40 * BLOCK;
	uint64_t first, end;

	assert_int_equal(copy_range_clone(&scene->share, scene->from, 3 * BLOCK + 10, n, BLOCK + 10,
					  &first, &end),
			 0);
	assert_int_equal(first, 2 * BLOCK);
	assert_int_equal(end, 41 * BLOCK);
	expect(scene, 4 * BLOCK, 39 * BLOCK, 2 * BLOCK);
	close_scene(state, scene, 39 * BLOCK, 0, 0);
}

static void unaligned_or_small_ranges_are_not_shared(void **state)
{
	static const uint64_t ranges[][3] = {
		{ 10, 40 * BLOCK, 11 }, { BLOCK, 40 * BLOCK, 2 * BLOCK + 512 },
		{ 0, 15 * BLOCK, 0 },	{ 10, 16 * BLOCK, 10 },
		{ 10, 100, 10 },	{ 0, 0, 0 },
	};
	struct scene *scene = open_scene(state);
	uint64_t first, end;

	for (size_t i = 0; i < ARRAY_LENGTH(ranges); i++) {
		assert_int_equal(copy_range_clone(&scene->share, scene->from, ranges[i][0],
						  ranges[i][1], ranges[i][2], &first, &end),
				 0);
		assert_int_equal(first, ranges[i][2]);
		assert_int_equal(end, ranges[i][2]);
	}
	assert_int_equal(filesystem.shared, 0);
	close_scene(state, scene, 0, 0, 0);
}

static void filesystem_without_sharing_is_no_error(void **state)
{
	static const int codes[] = { EXDEV, EOPNOTSUPP, EINVAL, ENOTTY, ENOSYS, EPERM, ETXTBSY };
	struct scene *scene = open_scene(state);
	uint64_t first, end;

	for (size_t i = 0; i < ARRAY_LENGTH(codes); i++) {
		filesystem.share_error = codes[i];
		assert_int_equal(copy_range_clone_file(&scene->share, scene->from), 0);
		assert_int_equal(copy_range_clone(&scene->share, scene->from, 0, SIZE, 0, &first,
						  &end),
				 0);
		assert_int_equal(end, 0);
	}
	close_scene(state, scene, 0, 0, 0);
}

static void disk_error_while_sharing_is_reported(void **state)
{
	static const int codes[] = { ENOSPC, EDQUOT, EIO };
	struct scene *scene = open_scene(state);
	uint64_t first, end;

	for (size_t i = 0; i < ARRAY_LENGTH(codes); i++) {
		filesystem.share_error = codes[i];
		assert_int_equal(copy_range_clone_file(&scene->share, scene->from), -codes[i]);
		assert_int_equal(copy_range_clone(&scene->share, scene->from, 0, SIZE, 0, &first,
						  &end),
				 -codes[i]);
	}
	close_scene(state, scene, 0, 0, 0);
}

static int copy(struct scene *scene, uint64_t offset, uint64_t n, uint64_t at)
{
	return copy_range_copy(&scene->share, scene->from, offset, n, at);
}

static void short_copies_by_the_kernel_are_continued(void **state)
{
	struct scene *scene = open_scene(state);

	filesystem.copy_most = 1000;
	assert_int_equal(copy(scene, 7, 5500, 9000), 0);
	assert_int_equal(filesystem.copies, 6);
	expect(scene, 7, 5500, 9000);
	close_scene(state, scene, 0, 5500, 0);
}

/* copy_file_range() between local disks would only do the same in smaller pieces. */
static void local_disk_is_copied_by_read_and_write(void **state)
{
	struct scene *scene = open_scene(state);
	const int fd = scene->share.fd;

	copy_range_release(&scene->share);
	filesystem.is_near = true;
	assert_int_equal(copy_range_init(&scene->share, fd, &scene->progress), 0);
	assert_int_equal(copy(scene, 7, 5500, 9000), 0);
	assert_int_equal(filesystem.copies, 0);
	expect(scene, 7, 5500, 9000);
	close_scene(state, scene, 0, 5500, 0);
}

/* Copying continues where the kernel stopped, without another try of the kernel's copy. EIO may
 * come from either file. */
static void failed_kernel_copy_continues_by_read_and_write(void **state)
{
	static const int codes[] = { EXDEV, EOPNOTSUPP, EINVAL, ENOSYS, EPERM, ETXTBSY, EIO };
	struct scene *scene = open_scene(state);

	for (size_t i = 0; i < ARRAY_LENGTH(codes); i++) {
		filesystem = (struct filesystem){ .copy_error = codes[i],
						  .copy_good = 2,
						  .copy_most = 1000 };
		assert_int_equal(copy(scene, i, 20 * BLOCK, 3 * i), 0);
		assert_int_equal(filesystem.copies, 3);
		expect(scene, i, 20 * BLOCK, 3 * i);
	}
	close_scene(state, scene, 0, ARRAY_LENGTH(codes) * 20 * BLOCK, 0);
}

static void full_disk_is_reported(void **state)
{
	static const int codes[] = { ENOSPC, EDQUOT, EFBIG };
	struct scene *scene = open_scene(state);

	for (size_t i = 0; i < ARRAY_LENGTH(codes); i++) {
		filesystem =
			(struct filesystem){ .copy_error = codes[i], .reserve_error = codes[i] };
		assert_int_equal(copy(scene, 0, 100, 0), -codes[i]);
		assert_int_equal(copy_range_reserve(&scene->share, 0, 100), -codes[i]);
	}
	filesystem.reserve_error = EOPNOTSUPP;
	assert_int_equal(copy_range_reserve(&scene->share, 0, 100), 0);
	close_scene(state, scene, 0, 0, 0);
}

static void source_that_ends_too_early_is_an_error(void **state)
{
	struct scene *scene = open_scene(state);

	assert_int_equal(copy(scene, SIZE - 100, 101, 0), -ENODATA);
	expect(scene, SIZE - 100, 100, 0);
	close_scene(state, scene, 0, 100, 0);
}

static void copy_can_be_cancelled(void **state)
{
	struct scene *scene = open_scene(state);
	const atomic_bool cancel = true;

	scene->progress.cancel = &cancel;
	assert_int_equal(copy(scene, 0, 100, 0), -EINTR);
	close_scene(state, scene, 0, 0, 0);
}

static void reserved_room_does_not_change_other_bytes(void **state)
{
	struct scene *scene = open_scene(state);

	assert_int_equal(copy(scene, 0, SIZE, 0), 0);
	expect(scene, 0, SIZE, 0);
	assert_int_equal(copy_range_reserve(&scene->share, BLOCK + 1, 5 * BLOCK), 0);
	memset(scene->expected + 2 * BLOCK, 0, 4 * BLOCK);
	assert_int_equal(copy_range_reserve(&scene->share, 20 * BLOCK + 1, 100), 0);
	assert_int_equal(copy_range_reserve(&scene->share, 30 * BLOCK, 0), 0);
	close_scene(state, scene, 0, SIZE, 0);
}

/* A later fsync() does not report that error again. */
static void writeback_error_is_reported(void **state)
{
	struct scene *scene = open_scene(state);
	const size_t n = (size_t)32 << 20;
	char *zeros = calloc(1, n);

	assert_int_equal(copy_range_write(&scene->share, zeros, 100, 0), 0);
	filesystem.write_back_error = EINVAL;
	assert_int_equal(copy_range_write(&scene->share, zeros, n, SIZE), 0);
	filesystem.write_back_error = EIO;
	assert_int_equal(copy_range_write(&scene->share, zeros, n, SIZE + n), -EIO);
	assert_int_equal(ftruncate(scene->share.fd, SIZE), 0);
	free(zeros);
	close_scene(state, scene, 0, 0, 100 + 2 * n);
}

UNIT_MAIN(temp_setup, temp_teardown)

/* SPDX-License-Identifier: MIT */
/* test_shared_file.c - fs/assemble/shared_file.c: the cost of a file that shares its blocks, and
 * its content. */
#include "fs/assemble/shared_file.h"
#include "fs/storage/backing.h"
#include "tests/unit/reflink.h"
#include "tests/unit/small_gguf.h"

#include <fcntl.h>
#include <unistd.h>

#define SIZE ((size_t)100 * BLOCK + 123)

struct scene {
	struct backing *base, *graft;
	struct path directory;
};

static struct backing *open_bytes(void **state, const char *name, uint32_t seed)
{
	uint8_t *bytes = malloc(SIZE);
	struct backing *file;

	for (size_t i = 0; i < SIZE; i++)
		bytes[i] = mk_byte(seed, i);
	write_file(in_temp(state, name).text, bytes, SIZE);
	free(bytes);
	file = backing_open(in_temp(state, name).text, NULL);
	assert_non_null(file);
	return file;
}

static struct scene open_scene(void **state)
{
	struct scene scene = { .base = open_bytes(state, "base", 1),
			       .graft = open_bytes(state, "graft", 2),
			       .directory = in_temp(state, "layer") };

	filesystem_begin();
	must(mkdir(scene.directory.text, 0700) == 0);
	return scene;
}

static void close_scene(struct scene *scene)
{
	assert_int_equal(count_entries(scene->directory.text), 0);
	backing_unref(scene->base);
	backing_unref(scene->graft);
}

/* The base with that number of blocks of the graft, at other places than in the base. */
static struct view *grafted(struct scene *scene, uint64_t blocks)
{
	const uint64_t from = (uint64_t)10 * BLOCK + 32, end = from + blocks * BLOCK;
	const struct segment segments[] = {
		{ .kind = SEGMENT_EXTENT, .length = from, .backing = scene->base },
		{ .kind = SEGMENT_EXTENT,
		  .length = end - from,
		  .backing = scene->graft,
		  .offset = 7 },
		{ .kind = SEGMENT_EXTENT,
		  .length = SIZE - end,
		  .backing = scene->base,
		  .offset = end },
	};
	struct view *view = view_new(segments, 3, NULL);

	must(view);
	return view;
}

static void shared_file_has_the_view_and_no_name(void **state)
{
	struct scene scene = open_scene(state);
	struct view *view = grafted(&scene, 5);
	char *bytes = read_view(view), *read = malloc(SIZE);
	struct stat stat;
	const int fd = shared_file_new(view, scene.directory.text);

	assert_true(fd >= 0);
	must(fstat(fd, &stat) == 0);
	assert_int_equal(stat.st_size, 0);
	filesystem.shared = 0;
	assert_int_equal(shared_file_fill(fd, view, NULL, NULL), 0);
	must(fstat(fd, &stat) == 0);
	assert_int_equal(stat.st_nlink, 0);
	assert_int_equal(stat.st_size, SIZE);
	assert_int_equal(pread(fd, read, SIZE, 0), SIZE);
	assert_memory_equal(read, bytes, SIZE);
	assert_int_equal(filesystem.shared, SIZE);
	close(fd);
	free(read);
	free(bytes);
	view_unref(view);
	close_scene(&scene);
}

static void assert_cheap(struct scene *scene, uint64_t blocks, bool cheap)
{
	struct view *view = grafted(scene, blocks);
	const int fd = shared_file_new(view, scene->directory.text);

	if (cheap)
		assert_true(fd >= 0);
	else
		assert_int_equal(fd, -ENOTSUP);
	if (fd >= 0)
		close(fd);
	view_unref(view);
}

static void file_with_mostly_shared_blocks_is_cheap(void **state)
{
	struct scene scene = open_scene(state);

	assert_cheap(&scene, 0, true);
	assert_cheap(&scene, 40, true);
	assert_cheap(&scene, 60, false);
	close_scene(&scene);
}

static void file_without_shared_blocks_is_not_cheap(void **state)
{
	struct scene scene = open_scene(state);

	filesystem.share_error = EOPNOTSUPP;
	assert_cheap(&scene, 5, false);
	filesystem.share_error = EXDEV;
	assert_cheap(&scene, 5, false);
	close_scene(&scene);
}

static void failed_file_creation_is_reported(void **state)
{
	struct scene scene = open_scene(state);
	struct view *view = grafted(&scene, 5);

	int fd;

	assert_int_equal(shared_file_new(view, in_temp(state, "missing").text), -ENOENT);
	fd = shared_file_new(view, scene.directory.text);
	filesystem.reserve_error = ENOSPC;
	assert_int_equal(shared_file_fill(fd, view, NULL, NULL), -ENOSPC);
	close(fd);
	view_unref(view);
	close_scene(&scene);
}

static void zeros_and_memory_alone_are_not_worth_a_file(void **state)
{
	struct scene scene = open_scene(state);
	const struct segment zeros = { .kind = SEGMENT_ZEROS, .length = SIZE };
	struct view *view = view_new(&zeros, 1, NULL);

	assert_int_equal(shared_file_new(view, scene.directory.text), -ENOTSUP);
	view_unref(view);
	close_scene(&scene);
}

static int make_nothing(struct view_generator *generator, size_t number, char *bytes, size_t length,
			const atomic_bool *stop)
{
	(void)generator;
	(void)number;
	(void)stop;
	memset(bytes, 0, length);
	return 0;
}

static void release_nothing(struct view_generator *generator)
{
	(void)generator;
}

static void computed_view_is_not_cheap(void **state)
{
	struct scene scene = open_scene(state);
	struct view_generator generator = { NULL, make_nothing, release_nothing };
	const struct segment segments[] = {
		{ .kind = SEGMENT_EXTENT, .length = SIZE, .backing = scene.base },
		{ .kind = SEGMENT_COMPUTED, .length = 10 },
	};
	struct view *view = view_new_computed(segments, 2, NULL, &generator);

	assert_int_equal(shared_file_new(view, scene.directory.text), -ENOTSUP);
	view_unref(view);
	close_scene(&scene);
}

static void fill_ends_at_interrupt_and_at_unmount(void **state)
{
	struct scene scene = open_scene(state);
	struct view *view = grafted(&scene, 5);
	const atomic_bool no = false, yes = true;
	const int fd = shared_file_new(view, scene.directory.text);

	assert_int_equal(shared_file_fill(fd, view, &yes, &no), -EINTR);
	assert_int_equal(shared_file_fill(fd, view, &no, &yes), -EINTR);
	assert_int_equal(shared_file_fill(fd, view, &no, &no), 0);
	close(fd);
	view_unref(view);
	close_scene(&scene);
}

static void changed_base_makes_no_file(void **state)
{
	struct scene scene = open_scene(state);
	struct view *view = grafted(&scene, 5);
	const int fd = shared_file_new(view, scene.directory.text);

	change_times(state, "base");
	assert_int_equal(shared_file_fill(fd, view, NULL, NULL), -EIO);
	assert_int_equal(shared_file_new(view, scene.directory.text), -ENOTSUP);
	close(fd);
	view_unref(view);
	close_scene(&scene);
}

/* An open() would wait until all blocks are read for the hash. */
static void graft_with_unverified_hash_is_not_cheap(void **state)
{
	struct scene scene = open_scene(state);
	struct view *view = grafted(&scene, 5);

	backing_expect_hash(scene.graft, "00000000000000000000000000000000");
	assert_int_equal(shared_file_new(view, scene.directory.text), -ENOTSUP);
	view_unref(view);
	close_scene(&scene);
}

static void shared_file_fails_without_memory(void **state)
{
	struct scene scene;
	struct view *view;
	int fd, rc;

	needs_failing_allocations();
	scene = open_scene(state);
	view = grafted(&scene, 5);
	for (uint64_t k = 1;; k++) {
		fd = shared_file_new(view, scene.directory.text);
		assert_true(fd >= 0);
		allocation_fails(k);
		rc = shared_file_fill(fd, view, NULL, NULL);
		close(fd);
		if (!allocation_failed())
			break;
		assert_int_equal(rc, -ENOMEM);
	}
	assert_int_equal(rc, 0);
	view_unref(view);
	close_scene(&scene);
}

UNIT_MAIN(temp_setup, temp_teardown)

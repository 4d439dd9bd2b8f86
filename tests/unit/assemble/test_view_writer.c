/* SPDX-License-Identifier: MIT */
/* test_view_writer.c - fs/assemble/view_writer.c: the file equals the view, whichever way its
 * parts are written. */
#include "fs/assemble/view_writer.h"
#include "fs/storage/backing.h"
#include "fs/util/parallel.h"
#include "fs/util/progress.h"
#include "tests/unit/reflink.h"
#include "tests/unit/small_gguf.h"

#include <sched.h>

#define SIZE	 ((size_t)100 * BLOCK + 123)
#define FILES	 3
#define SEGMENTS 12

/* Files under a view, and a file to fill. */
struct scene {
	struct backing *files[FILES];
	char *memory;
	struct view *view;
	struct progress progress;
	struct error err;
	int fd;
};

static struct path file_path(void **state, int number)
{
	char name[16];

	snprintf(name, sizeof(name), "file%d", number);
	return in_temp(state, name);
}

static struct scene *open_scene(void **state)
{
	struct scene *scene = calloc(1, sizeof(*scene));
	uint8_t *bytes = malloc(SIZE);

	filesystem_begin();
	for (int i = 0; i < FILES; i++) {
		for (size_t k = 0; k < SIZE; k++)
			bytes[k] = mk_byte(10 + (uint32_t)i, k);
		write_file(file_path(state, i).text, bytes, SIZE);
		scene->files[i] = backing_open(file_path(state, i).text, NULL);
		assert_non_null(scene->files[i]);
	}
	scene->memory = malloc(SIZE);
	for (size_t k = 0; k < SIZE; k++)
		scene->memory[k] = (char)mk_byte(20, k);
	scene->fd = -1;
	free(bytes);
	return scene;
}

static void close_scene(struct scene *scene)
{
	for (int i = 0; i < FILES; i++)
		backing_unref(scene->files[i]);
	view_unref(scene->view);
	if (scene->fd >= 0)
		close(scene->fd);
	free(scene->memory);
	free(scene);
}

static void make_view(struct scene *scene, const struct segment *segments, size_t n)
{
	view_unref(scene->view);
	scene->view = view_new(segments, n, NULL);
}

static int fill(void **state, struct scene *scene)
{
	if (scene->fd >= 0)
		close(scene->fd);
	scene->fd = open(in_temp(state, "filled").text, O_RDWR | O_CREAT | O_TRUNC, 0600);
	scene->err = (struct error){ 0 };
	filesystem.shared = 0;
	progress_begin(&scene->progress, view_size(scene->view));
	return view_write(scene->fd, scene->view, &scene->progress, &scene->err);
}

static void assert_filled(void **state, struct scene *scene)
{
	char *bytes = read_view(scene->view);

	assert_file(in_temp(state, "filled").text, bytes, (size_t)view_size(scene->view));
	assert_int_equal(scene->progress.done, view_size(scene->view));
	assert_int_equal(scene->progress.shared + scene->progress.copied + scene->progress.written,
			 scene->progress.done);
	free(bytes);
}

static struct segment of_file(struct scene *scene, int file, uint64_t offset, uint64_t length)
{
	return (struct segment){ .kind = SEGMENT_EXTENT,
				 .length = length,
				 .backing = scene->files[file],
				 .offset = offset };
}

/* Make a view of file 0 with 3 blocks of file 1. */
static void make_graft(struct scene *scene)
{
	const struct segment segments[] = {
		of_file(scene, 0, 0, 50 * BLOCK + 32),
		of_file(scene, 1, 77, 3 * BLOCK),
		of_file(scene, 0, 53 * BLOCK + 32, SIZE - 53 * BLOCK - 32),
	};

	make_view(scene, segments, 3);
}

static void all_but_a_graft_is_shared(void **state)
{
	struct scene *scene = open_scene(state);

	make_graft(scene);
	assert_int_equal(fill(state, scene), 0);
	assert_filled(state, scene);
	assert_int_equal(scene->progress.shared, SIZE - 3 * BLOCK);
	assert_int_equal(scene->progress.copied, 3 * BLOCK);
	assert_int_equal(filesystem.shared, SIZE); /* the whole file at once */
	close_scene(scene);
}

static void a_file_that_is_longer_than_the_view_is_shared_and_cut(void **state)
{
	struct scene *scene = open_scene(state);
	struct segment segment = of_file(scene, 0, 0, 70 * BLOCK + 1);

	make_view(scene, &segment, 1);
	assert_int_equal(fill(state, scene), 0);
	assert_filled(state, scene);
	assert_int_equal(scene->progress.shared, 70 * BLOCK + 1);
	close_scene(scene);
}

static void data_moved_by_whole_blocks_is_shared(void **state)
{
	struct scene *scene = open_scene(state);
	const struct segment segments[] = {
		{ .kind = SEGMENT_MEMORY, .length = 2 * BLOCK + 10, .memory = scene->memory },
		of_file(scene, 0, 10, 60 * BLOCK),
		of_file(scene, 1, BLOCK + 5, 30 * BLOCK),
		of_file(scene, 2, 10, 20 * BLOCK),
	};

	make_view(scene, segments, 4);
	assert_int_equal(fill(state, scene), 0);
	assert_filled(state, scene);
	assert_int_equal(scene->progress.shared, (59 + 19) * BLOCK);
	assert_int_equal(scene->progress.written, 2 * BLOCK + 10);
	assert_int_equal(filesystem.shared, (59 + 19) * BLOCK);
	close_scene(scene);
}

static void without_sharing_it_is_copied(void **state)
{
	struct scene *scene = open_scene(state);

	make_graft(scene);
	filesystem.share_error = EOPNOTSUPP;
	assert_int_equal(fill(state, scene), 0);
	assert_filled(state, scene);
	assert_int_equal(scene->progress.copied, SIZE);
	filesystem.copy_error = EXDEV;
	assert_int_equal(fill(state, scene), 0);
	assert_filled(state, scene);
	close_scene(scene);
}

/* ## any view */

static uint32_t next(uint32_t *seed, uint32_t below)
{
	*seed = *seed * 1664525u + 1013904223u;
	return (*seed >> 8) % below;
}

/* Make random segments: at their place in the file, moved by whole blocks, or anywhere. */
static void make_random(struct scene *scene, uint32_t *seed)
{
	struct segment segments[SEGMENTS];
	const size_t n = next(seed, SEGMENTS + 1);
	uint64_t at = 0;

	for (size_t i = 0; i < n; i++) {
		struct segment *s = &segments[i];
		const uint64_t length = next(seed, 2) ? next(seed, 40 * BLOCK) : next(seed, 3000);
		uint64_t offset = next(seed, 3) ? at % (60 * BLOCK) : next(seed, 60 * BLOCK);

		if (next(seed, 4) == 0)
			offset = (offset + next(seed, 9) * BLOCK) % (60 * BLOCK);
		*s = of_file(scene, (int)next(seed, FILES), offset, length);
		s->kind = next(seed, 3) ? SEGMENT_EXTENT : (enum segment_kind)next(seed, 3);
		s->memory = scene->memory;
		at += length;
	}
	make_view(scene, segments, n);
}

static void any_view_is_written_whole_by_any_method(void **state)
{
	struct scene *scene = open_scene(state);
	uint64_t shared = 0;
	uint32_t seed = 1;

	for (int round = 0; round < 400; round++) {
		make_random(scene, &seed);
		filesystem = (struct filesystem){
			.share_error = next(&seed, 4) ? 0 : EOPNOTSUPP,
			.copy_error = next(&seed, 4) ? 0 : EXDEV,
			.copy_most = next(&seed, 2) ? 0 : 5000,
			.copy_good = next(&seed, 4),
			.reserve_error = next(&seed, 2) ? 0 : EOPNOTSUPP,
		};
		assert_int_equal(fill(state, scene), 0);
		assert_filled(state, scene);
		shared += filesystem.shared;
	}
	assert_true(shared > 1000 * BLOCK);
	close_scene(scene);
}

/* ## bytes that are computed */

#define COMPUTED 40

/* State of a generator for COMPUTED segments; the last but one may fail. */
struct computing {
	struct view_generator generator;
	int rc;
	bool waits; /* the first segment waits until another one is begun */
	atomic_uint begun;
};

static int make(struct view_generator *generator, size_t number, char *bytes, size_t length,
		const atomic_bool *stop)
{
	struct computing *computing = (struct computing *)generator;

	(void)stop;
	if (number > 1)
		atomic_fetch_add(&computing->begun, 1);
	while (number == 0 && computing->waits && atomic_load(&computing->begun) == 0)
		sched_yield();
	for (size_t k = 0; k < length; k++)
		bytes[k] = (char)mk_byte((uint32_t)number, k);
	return number == COMPUTED - 2 ? computing->rc : 0;
}

static void keep(struct view_generator *generator)
{
	(void)generator;
}

static void make_computed(struct scene *scene, struct computing *computing)
{
	struct segment segments[COMPUTED];

	for (size_t i = 0; i < COMPUTED; i++)
		segments[i] = (struct segment){ .kind = SEGMENT_COMPUTED, .length = 130001 };
	*computing = (struct computing){ .generator = { .make = make, .release = keep } };
	view_unref(scene->view);
	scene->view = view_new_computed(segments, COMPUTED, NULL, &computing->generator);
	assert_non_null(scene->view);
}

static void computed_bytes_are_made_by_several_threads_and_written_in_order(void **state)
{
	struct scene *scene = open_scene(state);
	struct computing computing;

	make_computed(scene, &computing);
	computing.waits = parallel_threads() > 1;
	assert_int_equal(fill(state, scene), 0);
	assert_filled(state, scene);
	assert_int_equal(scene->progress.written, COMPUTED * 130001);
	close_scene(scene);
}

static void failed_generator_fails_the_write(void **state)
{
	struct scene *scene = open_scene(state);
	struct computing computing;

	make_computed(scene, &computing);
	computing.rc = -EIO;
	assert_int_equal(fill(state, scene), -EIO);
	assert_non_null(strstr(scene->err.text, "can no longer be read"));
	computing.rc = -ENOMEM;
	assert_int_equal(fill(state, scene), -ENOMEM);
	close_scene(scene);
}

/* ## failures */

static void first_failure_is_reported(void **state)
{
	struct scene *scene = open_scene(state);

	make_graft(scene);
	filesystem.share_error = ENOSPC;
	assert_int_equal(fill(state, scene), -ENOSPC);
	assert_int_equal(scene->err.code, ENOSPC);
	filesystem = (struct filesystem){ .reserve_error = ENOSPC };
	assert_int_equal(fill(state, scene), -ENOSPC);
	assert_int_equal(filesystem.copies, 0); /* before the first byte */
	filesystem = (struct filesystem){ .share_error = EXDEV, .copy_error = EDQUOT };
	assert_int_equal(fill(state, scene), -EDQUOT);
	assert_non_null(strstr(scene->err.text, "writing: "));
	close_scene(scene);
}

static struct path changed;

static void spoil(void)
{
	write_text(changed.text, "changed");
}

static void cut(void)
{
	must(truncate(changed.text, 60 * BLOCK) == 0);
}

/* The change may come before its bytes are copied, or after. */
static void file_changed_during_write_fails_the_write(void **state)
{
	struct scene *scene = open_scene(state);

	make_graft(scene);
	changed = file_path(state, 0);
	filesystem.before_copy = spoil;
	assert_int_equal(fill(state, scene), -EIO);
	assert_non_null(strstr(scene->err.text, "changed on disk"));
	filesystem.before_copy = NULL;
	assert_int_equal(fill(state, scene), -EIO);
	close_scene(scene);
}

static void file_truncated_during_write_fails_the_write(void **state)
{
	struct scene *scene = open_scene(state);

	make_graft(scene);
	changed = file_path(state, 0);
	filesystem.before_copy = cut;
	filesystem.share_error = EXDEV;
	assert_int_equal(fill(state, scene), -EIO);
	assert_non_null(strstr(scene->err.text, "changed on disk"));
	close_scene(scene);
}

static void file_with_unexpected_hash_is_not_shared(void **state)
{
	struct scene *scene = open_scene(state);

	make_graft(scene);
	backing_expect_hash(scene->files[1], "00000000000000000000000000000000");
	assert_int_equal(fill(state, scene), -EIO);
	assert_int_equal(filesystem.shared, 0);
	close_scene(scene);
}

static atomic_bool cancelled;

static void cancel(void)
{
	atomic_store(&cancelled, true);
}

static void write_can_be_cancelled_in_the_middle(void **state)
{
	struct scene *scene = open_scene(state);

	make_graft(scene);
	scene->progress.cancel = &cancelled;
	atomic_store(&cancelled, false);
	filesystem = (struct filesystem){ .share_error = EXDEV,
					  .copy_most = BLOCK,
					  .before_copy = cancel };
	assert_int_equal(fill(state, scene), -EINTR);
	assert_int_equal(filesystem.copies, 1);
	assert_int_equal(fill(state, scene), -EINTR);
	assert_int_equal(filesystem.copies, 1);
	close_scene(scene);
}

static void write_fails_without_memory(void **state)
{
	struct scene *scene;
	int rc;

	needs_failing_allocations();
	scene = open_scene(state);
	make_graft(scene);
	for (uint64_t k = 1;; k++) {
		allocation_fails(k);
		rc = fill(state, scene);
		if (!allocation_failed())
			break;
		assert_int_equal(rc, -ENOMEM);
	}
	assert_int_equal(rc, 0);
	assert_filled(state, scene);
	close_scene(scene);
}

UNIT_MAIN(temp_setup, temp_teardown)

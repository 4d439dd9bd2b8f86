/* SPDX-License-Identifier: MIT */
/* test_layer_queue.c - fs/layer/layer_queue.c: changes that share a transaction, changes that fail
 * alone, and disks on which all of them fail. */
#include "fs/layer/layer_queue.h"
#include "fs/layer/blobs.h"
#include "fs/layer/database.h"
#include "fs/layer/layer_internal.h"
#include "fs/storage/backing.h"
#include "tests/unit/database_fault.h"
#include "tests/unit/open_layer.h"

#include <stdatomic.h>

struct scene {
	struct site site;
	struct layer *layer;
};

static struct scene open_scene(void **state)
{
	struct scene scene = { .site = small_site(state) };

	scene.layer = open_layer(&scene.site);
	return scene;
}

static void close_scene(struct scene *scene)
{
	layer_close(scene->layer);
	close_site(&scene->site);
}

/* A change that adds a key with that number, and returns rc. */
struct step {
	unsigned number;
	int rc;
	bool has_new_file;
	size_t bytes; /* of the key's text */
};

static unsigned applied[64], n_applied;

static int apply_step(struct layer *layer, struct database *database, const void *context)
{
	const struct step *step = context;
	char name[16];
	int rc;

	snprintf(name, sizeof(name), "%u", step->number);
	applied[n_applied++ % ARRAY_LENGTH(applied)] = step->number;
	layer->queue.has_new_file |= step->has_new_file;
	rc = layer_touch(layer, database, LAYER_METADATA_TIME);
	if (rc == 0)
		rc = database_run(database, "INSERT INTO key VALUES (?, 0, NULL, randomblob(?), 0)",
				  "ti", name, (int64_t)step->bytes);
	return rc < 0 ? rc : step->rc;
}

static int apply_one(struct layer *layer, const struct step *step)
{
	return layer_apply(layer, apply_step, step, false);
}

static int64_t count_keys(struct layer *layer)
{
	return ask_layer(layer, "SELECT count(*) FROM key");
}

/* Number of changes in one transaction. */
#define STEPS 5
static void run_together(struct layer *layer, const struct step *steps, int results[STEPS])
{
	struct layer_change changes[STEPS];

	must(layer_make(layer) == 0);
	n_applied = 0;
	for (size_t i = 0; i < STEPS; i++) {
		changes[i] = (struct layer_change){ .apply = apply_step, .context = &steps[i] };
		layer_submit(layer, &changes[i]);
	}
	/* The first waiting thread becomes the leader and applies all changes. */
	results[2] = layer_await(layer, &changes[2]);
	for (size_t i = 0; i < STEPS; i++) {
		assert_true(changes[i].done);
		results[i] = layer_await(layer, &changes[i]);
	}
}

static void submitted_changes_are_applied_in_order_by_one_thread(void **state)
{
	static const struct step steps[STEPS] = {
		{ .number = 3 }, { .number = 1 }, { .number = 4 }, { .number = 2 }, { .number = 5 }
	};
	struct scene scene = open_scene(state);
	int results[STEPS];

	run_together(scene.layer, steps, results);
	assert_int_equal(n_applied, STEPS);
	for (size_t i = 0; i < STEPS; i++) {
		assert_int_equal(results[i], 0);
		assert_int_equal(applied[i], steps[i].number);
	}
	assert_int_equal(count_keys(scene.layer), STEPS);
	close_scene(&scene);
}

static void change_that_fails_fails_alone(void **state)
{
	/* The third change adds a key that already exists. */
	static const struct step steps[STEPS] = { { .number = 1 },
						  { .number = 2, .rc = -ENAMETOOLONG },
						  { .number = 1 },
						  { .number = 3 },
						  { .number = 4 } };
	static const int expected[STEPS] = { 0, -ENAMETOOLONG, -EINVAL, 0, 0 };
	struct scene scene = open_scene(state);
	int results[STEPS];

	run_together(scene.layer, steps, results);
	assert_memory_equal(results, expected, sizeof(results));
	assert_int_equal(count_keys(scene.layer), 3);
	close_scene(&scene);
}

static void times_of_directories_are_those_of_committed_changes(void **state)
{
	static const struct step fails = { .number = 1, .rc = -EINVAL }, works = { .number = 2 };
	struct scene scene = open_scene(state);
	struct timespec time;

	assert_int_equal(apply_one(scene.layer, &fails), -EINVAL);
	assert_false(layer_time(scene.layer, LAYER_METADATA_TIME, &time));
	assert_int_equal(apply_one(scene.layer, &works), 0);
	assert_true(layer_time(scene.layer, LAYER_METADATA_TIME, &time));
	assert_true(ask_layer(scene.layer, "SELECT mtime FROM directory WHERE name = 'metadata'") ==
		    layer_time_ns(&time));
	close_scene(&scene);
}

/* Replace the blob of organs/up, and fail. */
static int drop_and_fail(struct layer *layer, struct database *database, const void *context)
{
	(void)context;
	must(database_run(database, "DELETE FROM slot", "") == 0);
	must(blob_drop(layer, database, 1) == 0);
	return -EINVAL;
}

static void file_that_a_failed_change_dropped_stays(void **state)
{
	static const struct step step = { .number = 1 };
	struct scene scene = open_scene(state);
	struct layer_change changes[2] = { { .apply = drop_and_fail },
					   { .apply = apply_step, .context = &step } };
	char *large = calloc(1, 100000);
	struct backing *file = NULL;

	must(large && keep_bytes(scene.layer, CLASS_ORGANS, "up", NULL, large, 100000, &file) == 0);
	backing_unref(file);
	for (size_t i = 0; i < ARRAY_LENGTH(changes); i++)
		layer_submit(scene.layer, &changes[i]);
	assert_int_equal(layer_await(scene.layer, &changes[0]), -EINVAL);
	assert_int_equal(layer_await(scene.layer, &changes[1]), 0);
	assert_true(exists(path_in(layer_path(scene.layer), "blobs/1").text));
	assert_int_equal(ask_layer(scene.layer,
				   "SELECT count(*) FROM slot JOIN blob ON blob = number"),
			 1);
	free(large);
	close_scene(&scene);
}

static void *apply_many(void *layer)
{
	static atomic_uint next = 100;

	for (int i = 0; i < 20; i++) {
		const struct step step = { .number = atomic_fetch_add(&next, 1) };

		if (apply_one(layer, &step) < 0)
			return layer;
	}
	return NULL;
}

static void threads_at_once_lose_no_change(void **state)
{
	struct scene scene = open_scene(state);
	pthread_t threads[6];
	void *failed;

	for (size_t i = 0; i < ARRAY_LENGTH(threads); i++)
		must(pthread_create(&threads[i], NULL, apply_many, scene.layer) == 0);
	for (size_t i = 0; i < ARRAY_LENGTH(threads); i++) {
		pthread_join(threads[i], &failed);
		assert_null(failed);
	}
	assert_int_equal(count_keys(scene.layer), 120);
	close_scene(&scene);
}

static void held_changes_are_committed_or_rolled_back_together(void **state)
{
	static const struct step steps[] = {
		{ .number = 1 }, { .number = 2 }, { .number = 3, .rc = -EPERM }, { .number = 4 }
	};
	struct scene scene = open_scene(state);

	for (int keep = 0; keep < 2; keep++) {
		assert_int_equal(layer_hold(scene.layer), 0);
		for (size_t i = 0; i < ARRAY_LENGTH(steps); i++)
			assert_int_equal(apply_one(scene.layer, &steps[i]), steps[i].rc);
		assert_int_equal(layer_hold_end(scene.layer, keep), 0);
		assert_int_equal(count_keys(scene.layer), keep ? 3 : 0);
	}
	assert_int_equal(layer_hold(scene.layer), 0);
	assert_int_equal(layer_hold_end(scene.layer, true), 0);
	assert_int_equal(apply_one(scene.layer, &(struct step){ .number = 5 }), 0);
	close_scene(&scene);
}

/* If SQLite's cache is full, it writes the changes before the commit. */
static void held_changes_are_lost_together_on_a_disk_that_fails(void **state)
{
	struct scene scene = open_scene(state);

	for (int fails_early = 0; fails_early < 2; fails_early++) {
		assert_int_equal(layer_hold(scene.layer), 0);
		assert_int_equal(apply_one(scene.layer, &(struct step){ .number = 1 }), 0);
		database_writes_fail(EIO, NULL);
		if (fails_early) {
			assert_int_equal(apply_one(scene.layer,
						   &(struct step){ .number = 2, .bytes = 8 << 20 }),
					 -EIO);
			assert_true(database_write_failed());
			assert_int_equal(apply_one(scene.layer, &(struct step){ .number = 3 }),
					 -EIO);
		}
		assert_int_equal(layer_hold_end(scene.layer, true), -EIO);
		database_write_failed();
		assert_int_equal(count_keys(scene.layer), 0);
	}
	assert_int_equal(apply_one(scene.layer, &(struct step){ .number = 4 }), 0);
	assert_int_equal(count_keys(scene.layer), 1);
	close_scene(&scene);
}

static void commit_that_fails_fails_every_change_and_the_next_one_works(void **state)
{
	static const struct step steps[STEPS] = { { .number = 1 },
						  { .number = 2, .has_new_file = true },
						  { .number = 3, .rc = -EPERM },
						  { .number = 4 },
						  { .number = 5 } };
	static const int codes[] = { EIO, ENOSPC, EDQUOT };
	struct scene scene = open_scene(state);
	int results[STEPS];

	needs_failing_allocations();
	must(layer_make(scene.layer) == 0);
	/* 0: the fsync() of the directory of new files fails. */
	for (size_t i = 0; i <= ARRAY_LENGTH(codes); i++) {
		const int code = i ? codes[i - 1] : EIO;

		if (i)
			database_writes_fail(code, NULL);
		else
			fsync_fails(1);
		run_together(scene.layer, steps, results);
		assert_true(i ? database_write_failed() : fsync_failed());
		for (size_t j = 0; j < STEPS; j++)
			assert_int_equal(results[j], steps[j].rc ? steps[j].rc : -code);
		assert_int_equal(count_keys(scene.layer), 0);
	}
	assert_int_equal(apply_one(scene.layer, &steps[0]), 0);
	assert_int_equal(count_keys(scene.layer), 1);
	close_scene(&scene);
}

/* Number of keys that a mount would find after a kill of this one. */
static int64_t count_keys_of_copy(void **state, struct layer *layer)
{
	static const char *const files[] = { "layer.db", "layer.db-wal" };
	const struct path copy = in_temp(state, "copy");

	must(mkdir(copy.text, 0700) == 0 || errno == EEXIST);
	for (size_t i = 0; i < ARRAY_LENGTH(files); i++) {
		size_t n;
		char *bytes = read_whole(path_in(layer_path(layer), files[i]).text, &n);

		write_file(path_in(copy.text, files[i]).text, bytes, n);
		free(bytes);
	}
	return ask_rows(copy.text, "SELECT count(*) FROM key");
}

/* The write-ahead log holds the whole commit when the sync fails. */
static void commit_whose_sync_fails_is_not_found_later(void **state)
{
	struct scene scene = open_scene(state);

	assert_int_equal(apply_one(scene.layer, &(struct step){ .number = 1 }), 0);
	database_syncs_fail(EIO);
	for (unsigned i = 2; i < 4; i++) {
		assert_int_equal(apply_one(scene.layer, &(struct step){ .number = i }), -EIO);
		assert_int_equal(count_keys_of_copy(state, scene.layer), 1);
	}
	database_syncs_fail(0);
	assert_int_equal(count_keys(scene.layer), 1);
	assert_int_equal(apply_one(scene.layer, &(struct step){ .number = 2 }), 0);
	layer_rest(scene.layer);
	assert_int_equal(count_keys(scene.layer), 2);
	close_scene(&scene);
}

/* The log holds the whole commit, until the disk takes writes again. */
static void commit_is_not_found_when_the_disk_fails_for_a_while_from_its_sync_on(void **state)
{
	struct scene scene = open_scene(state);
	struct backing *file = NULL;
	char *large = calloc(1, 100000);

	assert_int_equal(apply_one(scene.layer, &(struct step){ .number = 1 }), 0);
	must(large && keep_bytes(scene.layer, CLASS_ORGANS, "up", NULL, large, 100000, &file) == 0);
	backing_unref(file);
	database_fails_from_sync(EIO);
	for (unsigned i = 2; i < 5; i++)
		assert_int_equal(apply_one(scene.layer, &(struct step){ .number = i }), -EIO);
	assert_int_equal(revert(scene.layer, CLASS_ORGANS, "up"), -EIO);
	database_syncs_fail(0);
	assert_true(database_write_failed());
	assert_int_equal(apply_one(scene.layer, &(struct step){ .number = 5 }), 0);
	assert_int_equal(count_keys_of_copy(state, scene.layer), 2);
	assert_int_equal(count_keys(scene.layer), 2);
	assert_true(exists(path_in(layer_path(scene.layer), "blobs/1").text));
	free(large);
	close_scene(&scene);
}

static void change_that_frees_uses_the_reserve_of_a_full_disk(void **state)
{
	static const struct step steps[] = { { .number = 1 }, { .number = 2 }, { .number = 3 } };
	struct scene scene = open_scene(state);
	struct layer_change changes[2] = {
		{ .apply = apply_step, .context = &steps[1] },
		{ .apply = apply_step, .context = &steps[2], .frees = true }
	};
	struct path reserve;
	struct stat stat_now;

	assert_int_equal(apply_one(scene.layer, &steps[0]), 0);
	reserve = path_in(layer_path(scene.layer), "reserve");
	must(stat(reserve.text, &stat_now) == 0);
	assert_true(stat_now.st_blocks * 512 >= 1 << 20);
	database_writes_fail(ENOSPC, reserve.text);
	for (size_t i = 0; i < ARRAY_LENGTH(changes); i++)
		layer_submit(scene.layer, &changes[i]);
	assert_int_equal(layer_await(scene.layer, &changes[0]), -ENOSPC);
	assert_int_equal(layer_await(scene.layer, &changes[1]), 0);
	assert_true(database_write_failed());
	assert_int_equal(count_keys(scene.layer), 2);
	/* The next change allocates the reserve again. */
	assert_int_equal(apply_one(scene.layer, &steps[1]), 0);
	assert_true(exists(reserve.text));
	close_scene(&scene);
}

static void layer_that_is_only_read_is_not_changed(void **state)
{
	struct scene scene = open_scene(state);

	close_scene(&scene);
	scene.site = small_site(state);
	scene.site.manner.read_only = true;
	scene.layer = open_layer(&scene.site);
	assert_int_equal(apply_one(scene.layer, &(struct step){ .number = 1 }), -EROFS);
	assert_int_equal(layer_hold(scene.layer), -EROFS);
	assert_false(exists(scene.site.state));
	close_scene(&scene);
}

UNIT_MAIN(temp_setup, temp_teardown)

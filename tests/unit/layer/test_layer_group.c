/* SPDX-License-Identifier: MIT */
/* test_layer_group.c - fs/layer/layer_group.c: one fsync() for all that wait. A descriptor that is
 * not open shows which directories it was asked of. */
#include "fs/layer/layer_group.h"
#include "fs/util/log.h"
#include "tests/unit/tasks.h"
#include "tests/unit/temp_dir.h"

#include <sys/wait.h>

#define NOT_OPEN 100000

struct scene {
	struct log *log;
	struct layer_group group;
	int dir;
};

static int open_directory(void **state, const char *name)
{
	const int dir = open(in_temp(state, name).text, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	must(dir >= 0);
	return dir;
}

static void open_scene(void **state, struct scene *scene)
{
	scene->log = log_new(true);
	must(scene->log != NULL);
	layer_group_init(&scene->group, scene->log);
	scene->dir = open_directory(state, "");
}

/* And another directory. */
static int open_scene_of_two(void **state, struct scene *scene)
{
	open_scene(state, scene);
	must(mkdir(in_temp(state, "other").text, 0700) == 0);
	return open_directory(state, "other");
}

static void close_scene(struct scene *scene)
{
	layer_group_destroy(&scene->group);
	close(scene->dir);
	log_free(scene->log);
}

/* Both join, then both wait. */
static void sync_two(struct layer_group *group, int first, int second, bool ordered, int rc[2])
{
	struct layer_group_wait waits[2];

	layer_group_join(group, &waits[0], first);
	layer_group_join(group, &waits[1], second);
	rc[0] = layer_group_await(group, &waits[0], ordered);
	rc[1] = layer_group_await(group, &waits[1], ordered);
}

static void one_fsync_of_the_last_stands_for_all_where_order_is_kept(void **state)
{
	struct scene s;
	int rc[2];

	open_scene(state, &s);
	sync_two(&s.group, NOT_OPEN, s.dir, true, rc);
	assert_int_equal(rc[0], 0);
	assert_int_equal(rc[1], 0);
	sync_two(&s.group, s.dir, NOT_OPEN, true, rc);
	assert_int_equal(rc[0], -EBADF);
	assert_int_equal(rc[1], -EBADF);
	close_scene(&s);
}

static void each_directory_has_its_own_elsewhere(void **state)
{
	struct scene s;
	int rc[2];

	open_scene(state, &s);
	sync_two(&s.group, NOT_OPEN, s.dir, false, rc);
	assert_int_equal(rc[0], -EBADF);
	assert_int_equal(rc[1], -EBADF);
	sync_two(&s.group, s.dir, s.dir, false, rc);
	assert_int_equal(rc[0], 0);
	assert_int_equal(rc[1], 0);
	assert_int_equal(layer_group_sync_later(&s.group, NOT_OPEN, false), -EBADF);
	close_scene(&s);
}

static void but_one_for_all_that_changed_it(void **state)
{
	struct scene s;
	int rc[2], other;

	open_scene(state, &s);
	other = open_directory(state, "");
	fsync_fails(2);
	sync_two(&s.group, s.dir, other, false, rc);
	assert_false(fsync_failed());
	assert_int_equal(rc[0], 0);
	assert_int_equal(rc[1], 0);
	close(other);
	close_scene(&s);
}

static void all_that_shared_an_fsync_are_told_of_its_failure(void **state)
{
	struct scene s;
	int rc[2];

	open_scene(state, &s);
	for (int ordered = 0; ordered <= 1; ordered++) {
		fsync_fails(1);
		sync_two(&s.group, s.dir, s.dir, ordered, rc);
		assert_true(fsync_failed());
		assert_int_equal(rc[0], -EIO);
		assert_int_equal(rc[1], -EIO);
		assert_int_equal(layer_group_sync(&s.group, s.dir, ordered), 0);
	}
	close_scene(&s);
}

static bool is_synced(struct layer_group *group)
{
	bool synced;

	pthread_mutex_lock(&group->lock);
	synced = group->later < 0 && !group->syncing;
	pthread_mutex_unlock(&group->lock);
	return synced;
}

static bool has_failed(struct layer_group *group)
{
	bool failed;

	pthread_mutex_lock(&group->lock);
	failed = group->failed != 0;
	pthread_mutex_unlock(&group->lock);
	return failed;
}

static void wait_until(bool (*is)(struct layer_group *group), struct layer_group *group)
{
	while (!is(group))
		tick();
}

static void what_is_left_to_later_becomes_durable_by_itself(void **state)
{
	struct scene s;

	open_scene(state, &s);
	for (unsigned i = 0; i < 3; i++) {
		assert_int_equal(layer_group_sync_later(&s.group, s.dir, true), 0);
		assert_int_equal(layer_group_sync_later(&s.group, s.dir, true), 0);
		wait_until(is_synced, &s.group);
	}
	close_scene(&s);
}

static void and_at_once_with_what_is_waited_for(void **state)
{
	struct scene s;

	open_scene(state, &s);
	assert_int_equal(layer_group_sync_later(&s.group, s.dir, true), 0);
	assert_int_equal(layer_group_flush(&s.group, true), 0);
	assert_true(is_synced(&s.group));
	/* The directory that was changed last is that of the removal. */
	assert_int_equal(layer_group_sync_later(&s.group, s.dir, true), 0);
	assert_int_equal(layer_group_sync(&s.group, s.dir, true), 0);
	assert_true(is_synced(&s.group));
	close_scene(&s);
}

static void the_next_that_waits_is_told_that_it_failed(void **state)
{
	struct scene s;

	open_scene(state, &s);
	fsync_fails(1);
	assert_int_equal(layer_group_sync_later(&s.group, s.dir, true), 0);
	wait_until(has_failed, &s.group);
	assert_true(fsync_failed());
	assert_int_equal(layer_group_flush(&s.group, true), -EIO);
	assert_int_equal(layer_group_flush(&s.group, true), 0);
	/* And a removal, which then does not wait for later. */
	fsync_fails(1);
	assert_int_equal(layer_group_sync_later(&s.group, s.dir, true), 0);
	wait_until(has_failed, &s.group);
	assert_true(fsync_failed());
	assert_int_equal(layer_group_sync_later(&s.group, s.dir, true), -EIO);
	assert_int_equal(layer_group_sync_later(&s.group, s.dir, true), 0);
	close_scene(&s);
}

/* On a disk that fails for good, each removal says so. */
static void while_the_disk_fails_nothing_is_left_to_later(void **state)
{
	struct scene s;

	open_scene(state, &s);
	for (unsigned i = 0; i < 4; i++) {
		fsync_fails(1);
		assert_int_equal(layer_group_sync(&s.group, s.dir, true), -EIO);
		fsync_fails(1);
		assert_int_equal(layer_group_sync_later(&s.group, s.dir, true), -EIO);
		assert_true(fsync_failed());
	}
	assert_int_equal(layer_group_sync_later(&s.group, s.dir, true), 0);
	assert_int_equal(layer_group_sync_later(&s.group, s.dir, true), 0);
	wait_until(is_synced, &s.group);
	close_scene(&s);
}

/* The directory that was changed last may have changed in nothing that its filesystem writes. */
static void a_removal_has_its_own_fsync_beside_another_directory(void **state)
{
	struct scene s;
	const int other = open_scene_of_two(state, &s);

	assert_int_equal(layer_group_sync_later(&s.group, s.dir, true), 0);
	fsync_fails(2);
	assert_int_equal(layer_group_sync(&s.group, other, true), -EIO);
	assert_true(fsync_failed());
	close(other);
	close_scene(&s);
}

/* What is left to later next stays until it is waited for. */
static void hold_back(struct layer_group *group)
{
	pthread_mutex_lock(&group->lock);
	clock_gettime(CLOCK_MONOTONIC, &group->due);
	group->due.tv_sec += 600;
	group->is_due = true;
	pthread_mutex_unlock(&group->lock);
}

static void where_no_order_is_kept_one_directory_is_left_to_later(void **state)
{
	struct scene s;
	const int other = open_scene_of_two(state, &s);

	assert_int_equal(layer_group_sync_later(&s.group, s.dir, false), 0);
	wait_until(is_synced, &s.group);
	/* Another one waits, for both. */
	hold_back(&s.group);
	assert_int_equal(layer_group_sync_later(&s.group, s.dir, false), 0);
	fsync_fails(2);
	assert_int_equal(layer_group_sync_later(&s.group, other, false), -EIO);
	assert_true(fsync_failed());
	/* What one thread waits for has to be durable with what was left before. */
	assert_int_equal(layer_group_sync(&s.group, s.dir, false), 0);
	hold_back(&s.group);
	assert_int_equal(layer_group_sync_later(&s.group, s.dir, false), 0);
	fsync_fails(1);
	assert_int_equal(layer_group_sync(&s.group, other, false), -EIO);
	assert_true(fsync_failed());
	assert_int_equal(layer_group_flush(&s.group, false), 0);
	close(other);
	close_scene(&s);
}

static void a_child_ends_with_what_was_at_rest(void **state)
{
	struct scene s;
	int status;
	pid_t child;

	open_scene(state, &s);
	assert_int_equal(layer_group_sync_later(&s.group, s.dir, true), 0);
	layer_group_rest(&s.group);
	assert_true(is_synced(&s.group));
	child = fork();
	must(child >= 0);
	if (child == 0) {
		alarm(UNIT_SECONDS);
		if (layer_group_sync_later(&s.group, s.dir, true) < 0)
			_exit(1);
		layer_group_destroy(&s.group);
		_exit(0);
	}
	must(waitpid(child, &status, 0) == child);
	assert_int_equal(status, 0);
	assert_int_equal(layer_group_sync_later(&s.group, s.dir, true), 0);
	wait_until(is_synced, &s.group);
	close_scene(&s);
}

static void what_failed_before_the_rest_is_told_after_it(void **state)
{
	struct scene s;

	open_scene(state, &s);
	hold_back(&s.group);
	assert_int_equal(layer_group_sync_later(&s.group, s.dir, true), 0);
	fsync_fails(1);
	layer_group_rest(&s.group);
	assert_true(fsync_failed());
	assert_int_equal(layer_group_flush(&s.group, true), -EIO);
	assert_int_equal(layer_group_flush(&s.group, true), 0);
	close_scene(&s);
}

#define THREADS 8
#define ROUNDS	50

static void *sync_often(void *argument)
{
	struct scene *scene = argument;
	uintptr_t failed = 0;

	for (unsigned i = 0; i < ROUNDS; i++) {
		failed |= layer_group_sync(&scene->group, scene->dir, true) != 0;
		failed |= layer_group_sync_later(&scene->group, scene->dir, true) != 0;
	}
	return (void *)failed;
}

static void threads_wait_together(void **state)
{
	pthread_t threads[THREADS];
	struct scene s;
	void *failed;

	open_scene(state, &s);
	for (unsigned i = 0; i < THREADS; i++)
		must(pthread_create(&threads[i], NULL, sync_often, &s) == 0);
	for (unsigned i = 0; i < THREADS; i++) {
		must(pthread_join(threads[i], &failed) == 0);
		assert_null(failed);
	}
	close_scene(&s);
}

UNIT_MAIN(temp_setup, temp_teardown)

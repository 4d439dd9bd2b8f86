/* SPDX-License-Identifier: MIT */
/* test_journal.c - fs/edit/journal.c: grafts of different slots may wait for the disk together,
 * while nothing else changes the layer. */
#include "fs/edit/journal.h"
#include "fs/model/model.h"
#include "tests/unit/tasks.h"
#include "tests/unit/temp_dir.h"

struct scene {
	struct model model;
	atomic_int alone, same, other; /* threads that have got the lock */
};

static void open_scene(struct scene *scene)
{
	memset(scene, 0, sizeof(*scene));
	pthread_mutex_init(&scene->model.journal.commit, NULL);
	pthread_cond_init(&scene->model.journal.moved, NULL);
}

static void close_scene(struct scene *scene)
{
	pthread_mutex_destroy(&scene->model.journal.commit);
	pthread_cond_destroy(&scene->model.journal.moved);
}

static void *be_alone(void *argument)
{
	struct scene *scene = argument;

	journal_begin(&scene->model);
	atomic_fetch_add(&scene->alone, 1);
	journal_end(&scene->model);
	return NULL;
}

static void graft(struct scene *scene, const char *name, atomic_int *count)
{
	struct journal_graft graft;

	journal_begin_graft(&scene->model, &graft, CLASS_ORGANS, name);
	atomic_fetch_add(count, 1);
	journal_wait(&scene->model, &graft);
	journal_resume(&scene->model, &graft);
	journal_end(&scene->model);
}

static void *graft_same(void *argument)
{
	struct scene *scene = argument;

	graft(scene, "up", &scene->same);
	return NULL;
}

static void *graft_other(void *argument)
{
	struct scene *scene = argument;

	graft(scene, "down", &scene->other);
	return NULL;
}

static void grafts_of_other_slots_need_not_wait(void **state)
{
	struct journal_graft first;
	struct task same, other;
	struct scene s;

	(void)state;
	open_scene(&s);
	journal_begin_graft(&s.model, &first, CLASS_ORGANS, "up");
	journal_wait(&s.model, &first);
	task_begin(&same, graft_same, &s);
	assert_true(task_sleeps(&same));
	task_begin(&other, graft_other, &s);
	task_end(&other);
	assert_int_equal(atomic_load(&s.other), 1);
	assert_int_equal(atomic_load(&s.same), 0);
	journal_resume(&s.model, &first);
	journal_end(&s.model);
	task_end(&same);
	assert_int_equal(atomic_load(&s.same), 1);
	close_scene(&s);
}

/* Later grafts come after that change. */
static void other_changes_wait_for_pending_grafts(void **state)
{
	struct journal_graft first;
	struct task alone, other;
	struct scene s;

	(void)state;
	open_scene(&s);
	journal_begin_graft(&s.model, &first, CLASS_ORGANS, "up");
	journal_wait(&s.model, &first);
	task_begin(&alone, be_alone, &s);
	assert_true(task_sleeps(&alone));
	task_begin(&other, graft_other, &s);
	assert_true(task_sleeps(&other));
	assert_int_equal(atomic_load(&s.alone), 0);
	assert_int_equal(atomic_load(&s.other), 0);
	journal_resume(&s.model, &first);
	journal_end(&s.model);
	task_end(&alone);
	task_end(&other);
	assert_int_equal(atomic_load(&s.alone), 1);
	assert_int_equal(atomic_load(&s.other), 1);
	close_scene(&s);
}

/* commit is free while this runs. */
static void count_change(void *context, struct model *model)
{
	assert_int_equal(pthread_mutex_trylock(&model->journal.commit), 0);
	pthread_mutex_unlock(&model->journal.commit);
	atomic_fetch_add((atomic_int *)context, 1);
}

static void listener_is_called_after_each_change(void **state)
{
	atomic_int count = 0;
	const struct model_listener deaf = { .changed = NULL };
	const struct model_listener listener = { count_change, &count };
	struct scene s;

	(void)state;
	open_scene(&s);
	be_alone(&s);
	s.model.listener = &deaf;
	be_alone(&s);
	s.model.listener = &listener;
	be_alone(&s);
	assert_int_equal(count, 1);
	graft(&s, "up", &s.same);
	assert_int_equal(count, 2);
	close_scene(&s);
}

UNIT_MAIN(temp_setup, temp_teardown)

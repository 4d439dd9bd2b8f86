/* SPDX-License-Identifier: MIT */
/* test_read_modes.c - fs/tree/read_modes.c: the first open() decides, later ones follow, and the
 * last close returns the kernel's file. */
#include "fs/tree/read_modes.h"
#include "tests/unit/tasks.h"
#include "tests/unit/unit.h"

/* A kernel that hands out numbers, from 1. */
struct kernel {
	struct read_modes *modes;
	int next, open, error;
	enum read_way way;
	atomic_uint asked;
	atomic_bool wait; /* find() waits */
};

static void give_back(void *context, int number)
{
	struct kernel *kernel = context;

	assert_between(number, 1, kernel->next - 1);
	kernel->open--;
}

static struct kernel *new_kernel(void)
{
	struct kernel *kernel = calloc(1, sizeof(*kernel));

	assert_non_null(kernel);
	kernel->modes = read_modes_new();
	kernel->next = 1;
	kernel->way = READ_PASSTHROUGH;
	assert_non_null(kernel->modes);
	assert_false(read_modes_on(kernel->modes));
	read_modes_begin(kernel->modes, give_back, kernel);
	assert_true(read_modes_on(kernel->modes));
	return kernel;
}

static void free_kernel(struct kernel *kernel)
{
	read_modes_free(kernel->modes);
	free(kernel);
}

static int find(void *context, const atomic_bool *stop, enum read_way *way)
{
	struct kernel *kernel = context;

	(void)stop;
	atomic_fetch_add(&kernel->asked, 1);
	while (atomic_load(&kernel->wait))
		tick();
	*way = kernel->way;
	if (kernel->error || kernel->way == READ_BY_DAEMON)
		return kernel->error;
	kernel->open++;
	return kernel->next++;
}

static int choose(struct kernel *kernel, struct read_mode *mode)
{
	return read_mode_choose(kernel->modes, mode, find, kernel, NULL);
}

static void first_open_decides_for_all(void **state)
{
	struct kernel *kernel = new_kernel();
	struct read_mode *first = read_modes_enter(kernel->modes, 7);
	struct read_mode *second = read_modes_enter(kernel->modes, 7);
	struct read_mode *other = read_modes_enter(kernel->modes, 8);

	(void)state;
	assert_int_equal(choose(kernel, first), 1);
	kernel->way = READ_BY_DAEMON;
	assert_int_equal(choose(kernel, second), 1);
	assert_int_equal(read_mode_choose(kernel->modes, second, NULL, NULL, NULL), 1);
	assert_int_equal(kernel->asked, 1);
	assert_int_equal(choose(kernel, other), 0);
	read_mode_leave(kernel->modes, first);
	assert_int_equal(kernel->open, 1);
	assert_int_equal(choose(kernel, second), 1);
	read_mode_leave(kernel->modes, second);
	assert_int_equal(kernel->open, 0);
	read_mode_leave(kernel->modes, other);
	read_mode_leave(kernel->modes, NULL);
	free_kernel(kernel);
}

static void later_opens_follow_a_daemon_read_too(void **state)
{
	struct kernel *kernel = new_kernel();
	struct read_mode *direct = read_modes_enter(kernel->modes, 7);
	struct read_mode *reader = read_modes_enter(kernel->modes, 7);

	(void)state;
	assert_int_equal(read_mode_choose(kernel->modes, direct, NULL, NULL, NULL), 0);
	read_mode_leave(kernel->modes, direct);
	assert_int_equal(choose(kernel, reader), 0);
	assert_int_equal(kernel->asked, 0);
	read_mode_leave(kernel->modes, reader);
	/* After the close the next open() decides anew. */
	reader = read_modes_enter(kernel->modes, 7);
	assert_int_equal(choose(kernel, reader), 1);
	read_mode_leave(kernel->modes, reader);
	assert_int_equal(kernel->open, 0);
	free_kernel(kernel);
}

static void mode_is_known_while_a_file_is_open(void **state)
{
	struct kernel *kernel = new_kernel();
	struct read_mode *mode;
	enum read_way way = READ_BY_DAEMON;

	(void)state;
	kernel->way = READ_SNAPSHOT;
	assert_false(read_modes_way(kernel->modes, 7, &way));
	mode = read_modes_enter(kernel->modes, 7);
	assert_false(read_modes_way(kernel->modes, 7, &way));
	assert_int_equal(choose(kernel, mode), 1);
	assert_true(read_modes_way(kernel->modes, 7, &way));
	assert_int_equal(way, READ_SNAPSHOT);
	assert_false(read_modes_way(kernel->modes, 8, &way));
	read_mode_leave(kernel->modes, mode);
	assert_false(read_modes_way(kernel->modes, 7, &way));
	free_kernel(kernel);
}

static void failed_choice_is_left_to_next_open(void **state)
{
	struct kernel *kernel = new_kernel();
	struct read_mode *first = read_modes_enter(kernel->modes, 7);
	struct read_mode *second = read_modes_enter(kernel->modes, 7);

	(void)state;
	kernel->error = -EINTR;
	assert_int_equal(choose(kernel, first), -EINTR);
	read_mode_leave(kernel->modes, first);
	kernel->error = 0;
	assert_int_equal(choose(kernel, second), 1);
	read_mode_leave(kernel->modes, second);
	assert_int_equal(kernel->open, 0);
	free_kernel(kernel);
}

static void nothing_is_given_back_when_the_connection_has_gone(void **state)
{
	struct kernel *kernel = new_kernel();
	struct read_mode *mode = read_modes_enter(kernel->modes, 7);

	(void)state;
	assert_int_equal(choose(kernel, mode), 1);
	read_modes_end(kernel->modes);
	assert_false(read_modes_on(kernel->modes));
	read_mode_leave(kernel->modes, mode);
	assert_int_equal(kernel->open, 1);
	/* The table releases an entry that is not left. */
	assert_non_null(read_modes_enter(kernel->modes, 9));
	free_kernel(kernel);
}

struct waiting {
	struct kernel *kernel;
	struct read_mode *mode;
	atomic_bool stop;
	int result;
};

static void *wait_for_it(void *argument)
{
	struct waiting *waiting = argument;

	waiting->result = read_mode_choose(waiting->kernel->modes, waiting->mode, find,
					   waiting->kernel, &waiting->stop);
	return NULL;
}

static void others_wait_for_the_decision_unless_they_are_stopped(void **state)
{
	struct kernel *kernel = new_kernel();
	struct waiting waiting[3];
	struct task tasks[3];

	(void)state;
	atomic_store(&kernel->wait, true);
	for (int i = 0; i < 3; i++) {
		waiting[i].kernel = kernel;
		waiting[i].mode = read_modes_enter(kernel->modes, 7);
		waiting[i].result = 99;
		atomic_init(&waiting[i].stop, i == 2);
		task_begin(&tasks[i], wait_for_it, &waiting[i]);
		while (atomic_load(&kernel->asked) == 0)
			tick();
	}
	task_end(&tasks[2]);
	assert_int_equal(waiting[2].result, -EINTR);
	assert_true(task_sleeps(&tasks[1]));
	assert_int_equal(kernel->asked, 1);
	atomic_store(&kernel->wait, false);
	task_end(&tasks[0]);
	task_end(&tasks[1]);
	assert_int_equal(waiting[0].result, 1);
	assert_int_equal(waiting[1].result, 1);
	assert_int_equal(kernel->asked, 1);
	for (int i = 0; i < 3; i++)
		read_mode_leave(kernel->modes, waiting[i].mode);
	assert_int_equal(kernel->open, 0);
	free_kernel(kernel);
}

static void without_memory_no_mode_is_entered(void **state)
{
	struct kernel *kernel;

	(void)state;
	needs_failing_allocations();
	allocation_fails(1);
	assert_null(read_modes_new());
	assert_true(allocation_failed());
	kernel = new_kernel();
	allocation_fails(1);
	assert_null(read_modes_enter(kernel->modes, 7));
	assert_true(allocation_failed());
	free_kernel(kernel);
}

UNIT_MAIN(NULL, NULL)

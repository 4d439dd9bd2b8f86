/* SPDX-License-Identifier: MIT */
/* tasks.c - see tasks.h. */
#include "tests/unit/tasks.h"
#include "tests/unit/unit.h"

#include <time.h>
#include <unistd.h>

char task_state(pid_t task)
{
	char path[32], text[64] = "", *state;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)task);
	file = fopen(path, "re");
	if (file && !fgets(text, sizeof(text), file))
		text[0] = '\0';
	if (file)
		fclose(file);
	state = strrchr(text, ')');
	return state ? state[2] : 0;
}

void tick(void)
{
	usleep(1000);
}

void await_work(void)
{
	const clock_t end = clock() + CLOCKS_PER_SEC / 50;

	while (clock() < end)
		tick();
}

static void *run_task(void *argument)
{
	struct task *task = argument;
	void *result;

	atomic_store(&task->number, gettid());
	result = task->run(task->argument);
	atomic_store(&task->over, true);
	return result;
}

void task_begin(struct task *task, void *(*run)(void *argument), void *argument)
{
	*task = (struct task){ .run = run, .argument = argument };
	assert_int_equal(pthread_create(&task->thread, NULL, run_task, task), 0);
}

/* A thread may also sleep briefly in an allocator, so it has to be asleep three times. */
bool task_sleeps(struct task *task)
{
	for (unsigned seen = 0; seen < 3 && !atomic_load(&task->over); tick())
		seen = task->number && task_state(task->number) == 'S' ? seen + 1 : 0;
	return !atomic_load(&task->over);
}

void *task_end(struct task *task)
{
	void *result;

	assert_int_equal(pthread_join(task->thread, &result), 0);
	return result;
}

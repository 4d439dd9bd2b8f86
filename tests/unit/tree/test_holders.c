/* SPDX-License-Identifier: MIT */
/* test_holders.c - fs/tree/holders.c: this process, its threads, and children. */
#include "fs/tree/holders.h"
#include "tests/unit/unit.h"

#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

static struct holders none(void)
{
	struct holders holders;

	holders_init(&holders);
	return holders;
}

static pid_t child_new(void)
{
	const pid_t child = fork();

	if (child == 0) {
		pause();
		_exit(0);
	}
	return child;
}

static void child_end(pid_t child)
{
	kill(child, SIGKILL);
	assert_int_equal(waitpid(child, NULL, 0), child);
}

static void a_process_holds_a_file_until_it_closes_it(void **state)
{
	struct holders holders = none();

	(void)state;
	assert_int_equal(holders_close(&holders, 7, getpid()), HOLDERS_NONE_BEFORE);
	assert_true(holders_open(&holders, getpid()));
	assert_false(holders_write(&holders, 7, getpid()));
	assert_false(holders_write(&holders, 7, getpid()));
	assert_int_equal(holders_close(&holders, 7, getpid()), HOLDERS_NONE);
	/* And again, when it writes to another descriptor. */
	assert_true(holders_write(&holders, 7, getpid()));
	assert_int_equal(holders_clear(&holders), HOLDERS_NONE);
	assert_int_equal(holders_clear(&holders), HOLDERS_NONE_BEFORE);
	holders_release(&holders);
}

static void a_child_that_ends_ends_no_holder_but_itself(void **state)
{
	struct holders holders = none();
	const pid_t child = child_new();

	(void)state;
	assert_true(holders_open(&holders, getpid()));
	assert_int_equal(holders_close(&holders, 8, child), HOLDERS_SOME);
	assert_false(holders_write(&holders, 7, getpid()));
	assert_false(holders_write(&holders, 8, child));
	assert_int_equal(holders_close(&holders, 8, child), HOLDERS_SOME);
	assert_int_equal(holders_close(&holders, 8, child), HOLDERS_SOME);
	assert_int_equal(holders_close(&holders, 7, getpid()), HOLDERS_NONE);
	child_end(child);
	holders_release(&holders);
}

/* A shell, and two commands, each of which learns what becomes of what it wrote. */
static void what_a_child_wrote_waits_for_none_that_has_only_opened_the_file(void **state)
{
	struct holders holders = none();
	const pid_t child = child_new();

	(void)state;
	assert_true(holders_open(&holders, getpid()));
	assert_false(holders_write(&holders, 8, child));
	assert_int_equal(holders_close(&holders, 8, child), HOLDERS_NONE);
	assert_int_equal(holders_close(&holders, 9, 0), HOLDERS_NONE_BEFORE);
	assert_true(holders_write(&holders, 8, child));
	assert_int_equal(holders_close(&holders, 8, child), HOLDERS_NONE);
	/* A page that a map has changed. */
	assert_true(holders_write(&holders, 0, 0));
	assert_int_equal(holders_close(&holders, 9, 0), HOLDERS_NONE);
	assert_int_equal(holders_close(&holders, 7, getpid()), HOLDERS_NONE_BEFORE);
	child_end(child);
	holders_release(&holders);
}

static void a_process_that_is_no_more_holds_nothing(void **state)
{
	struct holders holders = none();
	const pid_t child = child_new();

	(void)state;
	assert_true(holders_open(&holders, child));
	child_end(child);
	assert_int_equal(holders_close(&holders, 7, getpid()), HOLDERS_NONE);
	holders_release(&holders);
}

static void *add_from_here(void *holders)
{
	holders_write(holders, 0, gettid());
	return NULL;
}

static void what_a_thread_did_that_has_ended_its_process_did(void **state)
{
	struct holders holders = none();
	const pid_t child = child_new();
	pthread_t thread;

	(void)state;
	assert_int_equal(pthread_create(&thread, NULL, add_from_here, &holders), 0);
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_int_equal(holders_close(&holders, 8, child), HOLDERS_SOME);
	assert_int_equal(holders_close(&holders, 0, getpid()), HOLDERS_NONE);
	child_end(child);
	holders_release(&holders);
}

static void one_that_is_not_known_any_process_ends(void **state)
{
	struct holders holders = none();

	(void)state;
	assert_true(holders_write(&holders, 0, 0));
	assert_int_equal(holders_close(&holders, 7, 0), HOLDERS_NONE);
	/* Where others are known, they decide. */
	assert_true(holders_write(&holders, 7, 0));
	assert_false(holders_write(&holders, 0, 0));
	assert_int_equal(holders_close(&holders, 8, 0), HOLDERS_SOME);
	assert_int_equal(holders_close(&holders, 7, 0), HOLDERS_NONE);
	holders_release(&holders);
}

static void more_than_are_known_are_not_known(void **state)
{
	struct holders holders = none();

	(void)state;
	for (uint64_t i = 0; i <= HOLDERS_KNOWN; i++)
		assert_int_equal(holders_write(&holders, 10 + i, 0), i == 0);
	for (uint64_t i = 0; i + 1 < HOLDERS_KNOWN; i++)
		assert_int_equal(holders_close(&holders, 10 + i, 0), HOLDERS_SOME);
	assert_int_equal(holders_close(&holders, 10 + HOLDERS_KNOWN - 1, 0), HOLDERS_NONE);
	holders_release(&holders);
}

UNIT_MAIN(NULL, NULL)

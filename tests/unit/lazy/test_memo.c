/* SPDX-License-Identifier: MIT */
/* test_memo.c - fs/lazy/memo.c, by the invariants of memo.h: what is found out once, given up,
 * tried again and kept. */
#include "fs/lazy/memo.h"
#include "tests/unit/unit.h"

/* Where it is found out of two tensors, and what finding it out returns next. */
struct finder {
	struct memo_state places[2];
	int answer;
	atomic_uint found;
	atomic_bool *stop; /* NULL, or set by the job, which waits then until it is not wanted */
	atomic_bool go_on; /* or until this is set */
};

static struct memo_state *place(void *context, const struct subject *subject)
{
	struct finder *finder = context;

	return &finder->places[subject->tensor];
}

static int find(void *context, const struct subject *subject, struct memo_state *once)
{
	struct finder *finder = context;

	(void)subject;
	atomic_fetch_add(&finder->found, 1);
	if (finder->stop)
		atomic_store(finder->stop, true);
	while (finder->stop && !atomic_load(&finder->go_on))
		if (atomic_load(&once->unwanted))
			return -EINTR;
	return finder->answer;
}

static struct memo *memo_of(struct finder *finder)
{
	const struct memo_ops ops = { place, find, finder };
	struct memo *memo = memo_new(&ops, NULL);

	assert_non_null(memo);
	return memo;
}

static const struct subject first = { 0, NULL }, both[] = { { 0, NULL }, { 1, NULL } };

static void it_is_found_out_once(void **state)
{
	struct finder finder = { .answer = 0 };
	struct memo *memo = memo_of(&finder);

	(void)state;
	assert_int_equal(memo_count(memo), 0);
	assert_int_equal(memo_get(memo, &first, NULL), 0);
	assert_int_equal(memo_get(memo, &first, NULL), 0);
	assert_int_equal(memo_prepare(memo, both, 2, NULL), 0);
	assert_int_equal(finder.found, 2);
	assert_int_equal(memo_count(memo), 2);
	memo_free(memo);
}

static void that_there_is_nothing_to_be_found_out_stays(void **state)
{
	struct finder finder = { .answer = -ENOTSUP };
	struct memo *memo = memo_of(&finder);

	(void)state;
	assert_int_equal(memo_get(memo, &first, NULL), -ENOTSUP);
	finder.answer = 0;
	assert_int_equal(memo_get(memo, &first, NULL), -ENOTSUP);
	assert_int_equal(memo_prepare(memo, &first, 1, NULL), 0);
	assert_int_equal(finder.found, 1);
	memo_free(memo);
}

static void what_failed_is_tried_again_when_it_is_asked_for_again(void **state)
{
	struct finder finder = { .answer = -EIO };
	struct memo *memo = memo_of(&finder);

	(void)state;
	assert_int_equal(memo_get(memo, &first, NULL), -EIO);
	assert_int_equal(finder.found, 1);
	assert_int_equal(memo_prepare(memo, both, 2, NULL), -EIO);
	finder.answer = 0;
	assert_int_equal(memo_get(memo, &first, NULL), 0);
	assert_int_equal(memo_prepare(memo, both, 2, NULL), 0);
	memo_free(memo);
}

static void a_job_without_a_waiting_request_gives_up_without_a_trace(void **state)
{
	atomic_bool stop = false;
	struct finder finder = { .stop = &stop };
	struct memo *memo = memo_of(&finder);

	(void)state;
	assert_int_equal(memo_get(memo, &first, &stop), -EINTR);
	assert_true(stop);
	assert_int_equal(memo_count(memo), 0);
	/* The second request may meet the first one's job before that gives up. */
	atomic_store(&finder.go_on, true);
	assert_int_equal(memo_get(memo, &first, NULL), 0);
	assert_int_equal(memo_count(memo), 1);
	memo_free(memo);
}

static void once_it_is_stopped_requests_are_interrupted(void **state)
{
	struct finder finder = { .answer = 0 };
	struct memo *memo = memo_of(&finder);

	(void)state;
	memo_stop(memo);
	assert_int_equal(memo_get(memo, &first, NULL), -EINTR);
	assert_int_equal(finder.found, 0);
	memo_free(memo);
}

static void what_another_has_found_out_is_inherited(void **state)
{
	struct finder finder = { .answer = 0 }, heir = { .answer = -EIO };
	struct memo *memo = memo_of(&finder), *after = memo_of(&heir);

	(void)state;
	assert_int_equal(memo_get(memo, &first, NULL), 0);
	finder.answer = -EIO;
	assert_int_equal(memo_prepare(memo, both, 2, NULL), -EIO);
	assert_true(memo_inherit(after, &heir.places[0], memo, &finder.places[0]));
	assert_false(memo_inherit(after, &heir.places[1], memo, &finder.places[1]));
	assert_int_equal(memo_count(after), 1);
	assert_int_equal(memo_get(after, &first, NULL), 0);
	assert_int_equal(memo_get(after, &both[1], NULL), -EIO);
	memo_free(memo);
	memo_free(after);
}

static void without_memory_it_fails_and_can_be_asked_for_again(void **state)
{
	struct finder finder = { .answer = 0 };
	struct memo *memo;

	(void)state;
	needs_failing_allocations();
	memo = memo_of(&finder);
	allocation_fails(1);
	assert_int_equal(memo_get(memo, &first, NULL), -ENOMEM);
	assert_true(allocation_failed());
	assert_int_equal(finder.found, 0);
	assert_int_equal(memo_get(memo, &first, NULL), 0);
	memo_free(memo);
}

UNIT_MAIN(NULL, NULL)

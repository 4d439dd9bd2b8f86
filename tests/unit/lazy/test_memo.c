/* SPDX-License-Identifier: MIT */
/* test_memo.c - fs/lazy/memo.c, by the invariants of memo.h: results computed once, abandoned,
 * repeated and kept. */
#include "fs/lazy/memo.h"
#include "fs/model/slots.h"
#include "tests/unit/open_model.h"

/* The job's next result. */
struct finder {
	int answer;
	atomic_uint found;
	atomic_bool *stop; /* NULL, or set by the job before it waits for its end */
	atomic_bool go_on; /* ends that wait too */
};

struct finding {
	struct memo_state once;
	uint64_t tensor;
};

/* The job; how points to the finder. */
static int compute(struct model *model, uint64_t how, const struct subject *subject,
		   struct memo_state *once)
{
	struct finder *finder = (struct finder *)(uintptr_t)how;

	(void)model;
	atomic_fetch_add(&finder->found, 1);
	if (finder->stop)
		atomic_store(finder->stop, true);
	while (finder->stop && !atomic_load(&finder->go_on))
		if (atomic_load(&once->unwanted))
			return -EINTR;
	((struct finding *)once)->tensor = 100 + subject->tensor;
	return finder->answer;
}

static struct memo *memo_of(struct model *model, struct finder *finder)
{
	static const struct memo_ops ops = { .size = sizeof(struct finding), .compute = compute };
	struct memo *memo = memo_new(&ops, model, (uintptr_t)finder, NULL);

	assert_non_null(memo);
	return memo;
}

/* Get the result for the base's tensor, and check its value if the job ran. */
static int get(struct memo *memo, uint32_t tensor, const atomic_bool *stop)
{
	const struct subject subject = { tensor, NULL };
	uint64_t value = 0;
	const int rc = memo_get(memo, &subject, stop, &value);

	assert_int_equal(value, rc == 0 ? 100 + tensor : 0);
	return rc;
}

static const struct subject both[] = { { 0, NULL }, { 1, NULL } };

static void result_is_computed_once(void **state)
{
	struct opened o = open_small(state, "base.gguf");
	struct finder finder = { .answer = 0 };
	struct memo *memo = memo_of(o.model, &finder);

	assert_int_equal(memo_count(memo), 0);
	assert_int_equal(get(memo, 0, NULL), 0);
	assert_int_equal(get(memo, 0, NULL), 0);
	assert_int_equal(memo_prepare(memo, both, 2, NULL), 0);
	assert_int_equal(finder.found, 2);
	assert_int_equal(memo_count(memo), 2);
	memo_free(memo);
	close_model(&o);
}

static void not_supported_is_a_final_result(void **state)
{
	struct opened o = open_small(state, "base.gguf");
	struct finder finder = { .answer = -ENOTSUP };
	struct memo *memo = memo_of(o.model, &finder);

	assert_int_equal(get(memo, 0, NULL), -ENOTSUP);
	finder.answer = 0;
	assert_int_equal(get(memo, 0, NULL), -ENOTSUP);
	assert_int_equal(memo_prepare(memo, both, 1, NULL), 0);
	assert_int_equal(finder.found, 1);
	memo_free(memo);
	close_model(&o);
}

static void failed_job_is_repeated_at_next_request(void **state)
{
	struct opened o = open_small(state, "base.gguf");
	struct finder finder = { .answer = -EIO };
	struct memo *memo = memo_of(o.model, &finder);

	assert_int_equal(get(memo, 0, NULL), -EIO);
	assert_int_equal(finder.found, 1);
	assert_int_equal(memo_prepare(memo, both, 2, NULL), -EIO);
	finder.answer = 0;
	assert_int_equal(get(memo, 0, NULL), 0);
	assert_int_equal(memo_prepare(memo, both, 2, NULL), 0);
	memo_free(memo);
	close_model(&o);
}

static void a_job_without_a_waiting_request_gives_up_without_a_trace(void **state)
{
	struct opened o = open_small(state, "base.gguf");
	atomic_bool stop = false;
	struct finder finder = { .stop = &stop };
	struct memo *memo = memo_of(o.model, &finder);

	assert_int_equal(get(memo, 0, &stop), -EINTR);
	assert_true(stop);
	assert_int_equal(memo_count(memo), 0);
	/* The second request may meet the first one's job before that stops. */
	atomic_store(&finder.go_on, true);
	assert_int_equal(get(memo, 0, NULL), 0);
	assert_int_equal(memo_count(memo), 1);
	memo_free(memo);
	close_model(&o);
}

static void requests_of_stopped_memo_are_interrupted(void **state)
{
	struct opened o = open_small(state, "base.gguf");
	struct finder finder = { .answer = 0 };
	struct memo *memo = memo_of(o.model, &finder);

	memo_stop(memo);
	assert_int_equal(get(memo, 0, NULL), -EINTR);
	assert_int_equal(finder.found, 0);
	memo_free(memo);
	close_model(&o);
}

static void results_of_another_memo_are_inherited(void **state)
{
	struct opened o = open_small(state, "base.gguf");
	struct finder finder = { .answer = 0 }, heir = { .answer = -EIO };
	struct memo *memo = memo_of(o.model, &finder), *after = memo_of(o.model, &heir);

	assert_int_equal(get(memo, 0, NULL), 0);
	finder.answer = -EIO;
	assert_int_equal(memo_prepare(memo, both, 2, NULL), -EIO);
	memo_inherit(after, memo);
	assert_int_equal(memo_count(after), 1);
	assert_int_equal(get(after, 0, NULL), 0);
	assert_int_equal(get(after, 1, NULL), -EIO);
	memo_free(memo);
	memo_free(after);
	close_model(&o);
}

static _Atomic uint32_t in_force;

static uint32_t version(const struct model *model)
{
	(void)model;
	return atomic_load(&in_force);
}

static void *get_zero(void *memo)
{
	return (void *)(intptr_t)get(memo, 0, NULL);
}

/* The job began with the earlier content, and still runs at the request. */
static void value_of_another_version_is_computed_anew(void **state)
{
	static const struct memo_ops ops = { .size = sizeof(struct finding),
					     .compute = compute,
					     .version = version };
	struct opened o = open_small(state, "base.gguf");
	atomic_bool begun = false;
	struct finder finder = { .stop = &begun };
	struct memo *memo = memo_new(&ops, o.model, (uintptr_t)&finder, NULL);
	pthread_t readers[2];

	assert_non_null(memo);
	assert_int_equal(pthread_create(&readers[0], NULL, get_zero, memo), 0);
	while (!atomic_load(&begun))
		sched_yield();
	atomic_fetch_add(&in_force, 1);
	assert_int_equal(pthread_create(&readers[1], NULL, get_zero, memo), 0);
	atomic_store(&finder.go_on, true);
	for (int i = 0; i < 2; i++)
		assert_int_equal(pthread_join(readers[i], NULL), 0);
	assert_int_equal(finder.found, 2);
	memo_free(memo);
	close_model(&o);
}

static void request_fails_without_memory_and_can_be_repeated(void **state)
{
	struct opened o = open_small(state, "base.gguf");
	struct finder finder = { .answer = 0 };
	struct memo *memo;

	needs_failing_allocations();
	memo = memo_of(o.model, &finder);
	allocation_fails(1);
	assert_int_equal(get(memo, 0, NULL), -ENOMEM);
	assert_true(allocation_failed());
	assert_int_equal(finder.found, 0);
	assert_int_equal(get(memo, 0, NULL), 0);
	memo_free(memo);
	close_model(&o);
}

UNIT_MAIN(temp_setup, temp_teardown)

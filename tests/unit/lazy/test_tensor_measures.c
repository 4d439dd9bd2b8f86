/* SPDX-License-Identifier: MIT */
/* test_tensor_measures.c - fs/lazy/tensor_measures.c and memo.c, by the invariants of memo.h. */
#include "fs/lazy/memo.h"
#include "fs/lazy/tensor_measures.h"
#include "fs/model/slots.h"
#include "measure/sample.h"
#include "tests/unit/measures.h"
#include "tests/unit/tasks.h"
#include "tests/unit/zinputs.h"

static struct subject base_of(uint32_t tensor)
{
	return (struct subject){ tensor, NULL };
}

/* Content of the slot, with a reference to release. */
static struct subject slot_of(struct model *model, uint32_t tensor)
{
	return (struct subject){ tensor, slots_get(model->slots, tensor) };
}

static void nothing_is_measured_before_the_first_request(void **state)
{
	struct opened o = open_small(state, "base.gguf");
	struct memo *measures = new_readings(o.model);

	assert_int_equal(memo_prepare(measures, NULL, 0, NULL), 0);
	assert_int_equal(memo_count(measures), 0);
	memo_free(measures);
	memo_free(NULL);
	close_model(&o);
}

static void a_reading_is_the_measure_of_the_tensors_values(void **state)
{
	struct opened o = open_small(state, "base.gguf");
	struct memo *measures = new_readings(o.model);

	for (uint32_t i = 0; i < SMALL_TENSORS; i++) {
		const struct subject subject = base_of(i);
		const struct zmeasure expected = z_of_slot(o.model, i);
		struct zmeasure z;

		assert_int_equal(memo_get(measures, &subject, NULL, &z), 0);
		assert_same_z(&z, &expected);
		assert_int_equal(memo_count(measures), i + 1);
	}
	memo_free(measures);
	close_model(&o);
}

static void samples_are_as_many_as_the_mount_says(void **state)
{
	const struct subject subject = base_of(0);
	struct zmeasure z;
	struct opened o;
	struct memo *measures;

	save_hole(state, "base.gguf", GGML_F16, 200192);
	o = open_model(state, "base.gguf");
	measures = tensor_measures_new(o.model, 256, NULL);
	assert_int_equal(memo_get(measures, &subject, NULL, &z), 0);
	assert_int_equal(z.sampled, 256);
	memo_free(measures);
	measures = tensor_measures_new(o.model, SAMPLES_ALL, NULL);
	assert_int_equal(memo_get(measures, &subject, NULL, &z), 0);
	assert_int_equal(z.sampled, 200192);
	memo_free(measures);
	close_model(&o);
}

static void a_model_without_tensors_has_readings_too(void **state)
{
	struct mk_file file = mkgguf_finish(mkgguf_new(3));
	struct opened o;

	save(state, "base.gguf", &file);
	mk_file_free(&file);
	o = open_model(state, "base.gguf");
	memo_free(new_readings(o.model));
	close_model(&o);
}

/* Number of threads that ask for the same result. */
#define THREADS 8
#define MANY	40

struct crowd {
	struct memo *measures;
	const struct subject *subjects;
	const struct zmeasure *expected;
	size_t n;
	pthread_barrier_t start;
	atomic_uint wrong, next_seed;
	atomic_bool stops[THREADS], over;
};

static void *ask_for_all(void *argument)
{
	struct crowd *crowd = argument;
	struct zmeasure z;

	pthread_barrier_wait(&crowd->start);
	if (memo_prepare(crowd->measures, crowd->subjects, crowd->n, NULL) != 0)
		crowd->wrong++;
	for (size_t i = 0; i < crowd->n; i++)
		if (memo_get(crowd->measures, &crowd->subjects[i], NULL, &z) != 0 ||
		    !same_z(&z, &crowd->expected[i]))
			crowd->wrong++;
	return NULL;
}

/* Invariant 1. */
static void a_content_is_measured_once_however_many_ask(void **state)
{
	struct subject subjects[MANY];
	struct zmeasure expected[MANY];
	pthread_t threads[THREADS];
	struct crowd crowd = { .subjects = subjects, .expected = expected, .n = MANY };
	struct opened o;

	save_many(state, "base.gguf", MANY);
	o = open_model(state, "base.gguf");
	crowd.measures = new_readings(o.model);
	pthread_barrier_init(&crowd.start, NULL, THREADS);
	for (uint32_t i = 0; i < MANY; i++) {
		subjects[i] = base_of(i);
		expected[i] = z_of_slot(o.model, i);
	}
	for (size_t i = 0; i < THREADS; i++)
		must(pthread_create(&threads[i], NULL, ask_for_all, &crowd) == 0);
	for (size_t i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	assert_int_equal(crowd.wrong, 0);
	assert_int_equal(memo_count(crowd.measures), MANY);
	pthread_barrier_destroy(&crowd.start);
	memo_free(crowd.measures);
	close_model(&o);
}

static void asking_twice_in_one_go_measures_once(void **state)
{
	struct opened o = open_small(state, "base.gguf");
	struct memo *measures = new_readings(o.model);
	const struct subject twice[] = { base_of(SMALL_UP), base_of(SMALL_Q), base_of(SMALL_UP) };

	assert_int_equal(memo_prepare(measures, twice, 3, NULL), 0);
	assert_int_equal(memo_prepare(measures, twice, 3, NULL), 0);
	assert_int_equal(memo_count(measures), 2);
	memo_free(measures);
	close_model(&o);
}

static void a_graft_is_measured_anew_and_the_bases_reading_stays(void **state)
{
	struct opened o = open_small(state, "base.gguf");
	struct memo *measures = new_readings(o.model);
	const struct subject base = base_of(SMALL_UP);
	const struct zmeasure of_base = z_of_slot(o.model, SMALL_UP);
	struct zmeasure of_graft, z;
	struct subject graft;

	assert_int_equal(memo_get(measures, &base, NULL, &z), 0);
	assert_int_equal(fill_up(o.model, 77), 0);
	of_graft = z_of_slot(o.model, SMALL_UP);
	assert_false(same_z(&of_graft, &of_base));
	graft = slot_of(o.model, SMALL_UP);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(memo_get(measures, &graft, NULL, &z), 0);
		assert_same_z(&z, &of_graft);
		assert_int_equal(memo_count(measures), 2);
		assert_int_equal(memo_get(measures, &base, NULL, &z), 0);
		assert_same_z(&z, &of_base);
		assert_int_equal(memo_count(measures), 2);
	}
	content_unref(graft.content);
	memo_free(measures);
	close_model(&o);
}

static void a_graft_is_measured_by_its_own_type(void **state)
{
	static const uint64_t ne[] = { 32, 2 };
	struct opened o = open_small(state, "base.gguf");
	struct memo *measures = new_readings(o.model);
	struct zmeasure expected, z;
	struct subject graft;

	assert_int_equal(fill_organ(o.model, SMALL_DOWN, "blk.0.ffn_down.weight", GGML_Q4_0, 2, ne,
				    5),
			 0);
	expected = z_of_slot(o.model, SMALL_DOWN);
	graft = slot_of(o.model, SMALL_DOWN);
	assert_int_equal(graft.content->organ.type, GGML_Q4_0);
	assert_int_equal(memo_get(measures, &graft, NULL, &z), 0);
	assert_same_z(&z, &expected);
	content_unref(graft.content);
	memo_free(measures);
	close_model(&o);
}

static void the_contents_a_job_measures_are_given_back(void **state)
{
	struct opened o = open_small(state, "base.gguf");
	struct memo *measures = new_readings(o.model);
	struct subject graft;
	struct zmeasure z;

	assert_int_equal(fill_up(o.model, 77), 0);
	graft = slot_of(o.model, SMALL_UP);
	assert_int_equal(graft.content->refs, 2);
	assert_int_equal(memo_get(measures, &graft, NULL, &z), 0);
	assert_int_equal(memo_prepare(measures, &graft, 1, NULL), 0);
	memo_free(measures);
	assert_int_equal(graft.content->refs, 2);
	assert_int_equal(graft.content->measure.once.waiting, 0);
	content_unref(graft.content);
	close_model(&o);
}

/* Invariant 3. */
static void failed_measurement_is_repeated_at_next_request(void **state)
{
	struct opened o = open_small(state, "base.gguf");
	struct memo *measures = new_readings(o.model);
	const struct subject subject = base_of(SMALL_UP);
	const struct zmeasure expected = z_of_slot(o.model, SMALL_UP);
	struct zmeasure z;

	change_times(state, "base.gguf");
	assert_int_equal(memo_get(measures, &subject, NULL, &z), -EIO);
	assert_int_equal(memo_count(measures), 1);
	assert_int_equal(memo_prepare(measures, &subject, 1, NULL), -EIO);
	assert_int_equal(memo_count(measures), 2);
	restore_times(state, "base.gguf");
	assert_int_equal(memo_get(measures, &subject, NULL, &z), 0);
	assert_same_z(&z, &expected);
	assert_int_equal(memo_count(measures), 3);
	/* Successful results are kept, even if the file changes. */
	change_times(state, "base.gguf");
	assert_int_equal(memo_get(measures, &subject, NULL, &z), 0);
	assert_int_equal(memo_count(measures), 3);
	memo_free(measures);
	close_model(&o);
}

static void prepare_fails_if_one_measurement_fails(void **state)
{
	struct opened o = open_small(state, "base.gguf");
	struct memo *measures = new_readings(o.model);
	struct subject subjects[3];
	struct zmeasure z;

	assert_int_equal(fill_up(o.model, 77), 0);
	subjects[0] = subjects[2] = slot_of(o.model, SMALL_UP);
	subjects[1] = base_of(SMALL_Q);
	change_times(state, "base.gguf");
	assert_int_equal(memo_prepare(measures, subjects, 3, NULL), -EIO);
	/* The graft is a file of its own. */
	assert_int_equal(memo_get(measures, &subjects[0], NULL, &z), 0);
	content_unref(subjects[0].content);
	memo_free(measures);
	close_model(&o);
}

static void type_without_values_is_a_final_result(void **state)
{
	static const uint32_t types[] = { GGML_Q8_1, 200 };

	for (size_t i = 0; i < ARRAY_LENGTH(types); i++) {
		struct mkgguf *m = mkgguf_new(3);
		const struct subject subject = base_of(0);
		struct memo *measures;
		struct mk_file file;
		struct opened o;
		struct zmeasure z;

		mkgguf_tensor(m, "blk.0.ffn_up.weight", types[i], 2, small_blocks);
		file = mkgguf_finish(m);
		save(state, "base.gguf", &file);
		mk_file_free(&file);
		o = open_model(state, "base.gguf");
		measures = new_readings(o.model);
		for (int k = 0; k < 3; k++) {
			assert_int_equal(memo_get(measures, &subject, NULL, &z), -ENOTSUP);
			assert_int_equal(memo_prepare(measures, &subject, 1, NULL), 0);
			assert_int_equal(memo_count(measures), 1);
		}
		memo_free(measures);
		close_model(&o);
	}
}

/* ## abandoned jobs */

static void stopped_request_gets_no_result(void **state)
{
	struct opened o = open_small(state, "base.gguf");
	struct memo *measures = new_readings(o.model);
	const struct subject subject = base_of(SMALL_UP);
	const atomic_bool stop = true, go = false;
	struct zmeasure z;

	assert_int_equal(memo_get(measures, &subject, &stop, &z), -EINTR);
	assert_int_equal(memo_prepare(measures, &subject, 1, &stop), -EINTR);
	assert_int_equal(memo_get(measures, &subject, &go, &z), 0);
	assert_int_equal(memo_count(measures), 1);
	memo_free(measures);
	close_model(&o);
}

/* Number of values, 64 GiB, of a tensor whose measurement would outlast these tests. */
#define LONG_ELEMENTS ((uint64_t)1 << 34)

static struct opened open_long(void **state)
{
	save_hole(state, "base.gguf", GGML_F32, LONG_ELEMENTS);
	return open_model(state, "base.gguf");
}

static void *stop_soon(void *argument)
{
	await_work();
	atomic_store((atomic_bool *)argument, true);
	return NULL;
}

/* Invariant 2. */
static void a_job_that_nobody_waits_for_gives_up_without_a_trace(void **state)
{
	struct opened o = open_long(state);
	struct memo *measures = tensor_measures_new(o.model, SAMPLES_ALL, NULL);
	const struct subject subject = base_of(0);
	atomic_bool stop = false;
	struct zmeasure z;
	pthread_t thread;

	for (int i = 0; i < 2; i++) {
		stop = false;
		must(pthread_create(&thread, NULL, stop_soon, &stop) == 0);
		assert_int_equal(memo_get(measures, &subject, &stop, &z), -EINTR);
		pthread_join(thread, NULL);
		assert_true(stop);
	}
	memo_free(measures);
	close_model(&o);
}

static void *stop_readings_soon(void *argument)
{
	await_work();
	memo_stop(argument);
	return NULL;
}

static void stop_ends_every_wait(void **state)
{
	struct opened o = open_long(state);
	struct memo *measures = tensor_measures_new(o.model, SAMPLES_ALL, NULL);
	const struct subject subject = base_of(0);
	struct zmeasure z;
	pthread_t thread;

	must(pthread_create(&thread, NULL, stop_readings_soon, measures) == 0);
	assert_int_equal(memo_get(measures, &subject, NULL, &z), -EINTR);
	pthread_join(thread, NULL);
	/* Requests fail now and later. */
	assert_int_equal(memo_get(measures, &subject, NULL, &z), -EINTR);
	assert_int_equal(memo_prepare(measures, &subject, 1, NULL), -EINTR);
	assert_int_equal(memo_count(measures), 0);
	memo_free(measures);
	close_model(&o);
}

static void stopped_memo_gives_no_result(void **state)
{
	struct opened o = open_small(state, "base.gguf");
	struct memo *measures = new_readings(o.model);
	const struct subject subject = base_of(SMALL_UP);
	struct zmeasure z;

	assert_int_equal(memo_get(measures, &subject, NULL, &z), 0);
	memo_stop(measures);
	assert_int_equal(memo_get(measures, &subject, NULL, &z), -EINTR);
	memo_free(measures);
	close_model(&o);
}

static void a_job_keeps_the_content_that_everybody_else_gave_up(void **state)
{
	struct opened o = open_small(state, "base.gguf");
	struct memo *measures = new_readings(o.model);
	const atomic_bool stop = true;

	for (uint32_t i = 0; i < 50; i++) {
		struct subject graft;

		assert_int_equal(fill_up(o.model, 100 + i), 0);
		graft = slot_of(o.model, SMALL_UP);
		assert_int_equal(memo_prepare(measures, &graft, 1, &stop), -EINTR);
		content_unref(graft.content);
		slots_set(o.model->slots, SMALL_UP, NULL);
	}
	memo_free(measures);
	close_model(&o);
}

/* ## a crowd, some of whom stop waiting */

static void *ask_for_some(void *argument)
{
	struct crowd *crowd = argument;
	const unsigned me = crowd->next_seed++;
	uint32_t seed = me;

	pthread_barrier_wait(&crowd->start);
	for (int round = 0; round < 150; round++) {
		const size_t first = (size_t)(lcg(&seed) * (double)crowd->n);
		const size_t n = (size_t)(lcg(&seed) * (double)(crowd->n - first)) + 1;
		const size_t one = first + (size_t)(lcg(&seed) * (double)n);
		struct zmeasure z;
		int rc = memo_prepare(crowd->measures, crowd->subjects + first, n,
				      &crowd->stops[me]);

		if (rc != 0 && rc != -EINTR)
			crowd->wrong++;
		rc = memo_get(crowd->measures, &crowd->subjects[one], &crowd->stops[me], &z);
		if (rc != -EINTR && (rc != 0 || !same_z(&z, &crowd->expected[one])))
			crowd->wrong++;
	}
	return NULL;
}

static void *stop_some(void *argument)
{
	struct crowd *crowd = argument;
	uint32_t seed = 99;

	pthread_barrier_wait(&crowd->start);
	while (!crowd->over) {
		const size_t who = (size_t)(lcg(&seed) * THREADS);

		crowd->stops[who] = lcg(&seed) < 0.5;
		sched_yield();
	}
	return NULL;
}

/* Collect the bases' tensors, then grafts in some of their slots. */
static size_t collect(struct model *model, struct subject *subjects, struct zmeasure *expected)
{
	static const uint64_t ne[] = { 64 };
	size_t n = 0;

	for (uint32_t i = 0; i < MANY; i++) {
		expected[n] = z_of_slot(model, i);
		subjects[n++] = base_of(i);
	}
	for (uint32_t i = 0; i < MANY; i += 5) {
		assert_int_equal(fill_organ(model, i, "graft", GGML_F32, 1, ne, 200 + i), 0);
		expected[n] = z_of_slot(model, i);
		subjects[n++] = slot_of(model, i);
	}
	return n;
}

static void every_wait_ends_and_nothing_is_measured_twice(void **state)
{
	struct subject subjects[2 * MANY];
	struct zmeasure expected[2 * MANY];
	struct crowd crowd = { .subjects = subjects, .expected = expected };
	pthread_t threads[THREADS], stopper;
	struct opened o;

	save_many(state, "base.gguf", MANY);
	o = open_model(state, "base.gguf");
	crowd.n = collect(o.model, subjects, expected);
	pthread_barrier_init(&crowd.start, NULL, THREADS + 1);
	for (int round = 0; round < 5; round++) {
		crowd.measures = new_readings(o.model);
		crowd.next_seed = 0;
		crowd.over = false;
		for (size_t i = 0; i < crowd.n; i++)
			if (subjects[i].content)
				subjects[i].content->measure = (struct measure_result){ 0 };
		for (size_t i = 0; i < THREADS; i++)
			must(pthread_create(&threads[i], NULL, ask_for_some, &crowd) == 0);
		must(pthread_create(&stopper, NULL, stop_some, &crowd) == 0);
		for (size_t i = 0; i < THREADS; i++)
			pthread_join(threads[i], NULL);
		crowd.over = true;
		pthread_join(stopper, NULL);
		assert_int_equal(crowd.wrong, 0);
		assert_true(memo_count(crowd.measures) <= crowd.n);
		assert_int_equal(memo_prepare(crowd.measures, subjects, crowd.n, NULL), 0);
		assert_int_equal(memo_count(crowd.measures), crowd.n);
		memo_free(crowd.measures);
	}
	for (size_t i = 0; i < crowd.n; i++)
		if (subjects[i].content) {
			assert_int_equal(subjects[i].content->refs, 2);
			assert_int_equal(subjects[i].content->measure.once.waiting, 0);
			content_unref(subjects[i].content);
		}
	pthread_barrier_destroy(&crowd.start);
	close_model(&o);
}

/* Enough subjects for a job to notice during their enumeration that it is abandoned. */
#define CROWDED 100000

static void request_during_abandonment_restarts_the_job(void **state)
{
	struct subject *subjects = calloc(CROWDED, sizeof(*subjects));
	const struct subject last = base_of(SMALL_UP);
	const atomic_bool stop = true;
	struct opened o = open_small(state, "base.gguf");

	must(subjects);
	subjects[CROWDED - 1] = last;
	for (int round = 0; round < 20; round++) {
		struct memo *measures = new_readings(o.model);

		assert_int_equal(memo_prepare(measures, &last, 1, &stop), -EINTR);
		assert_int_equal(memo_prepare(measures, subjects, CROWDED, NULL), 0);
		assert_int_equal(memo_count(measures), 2);
		memo_free(measures);
	}
	free(subjects);
	close_model(&o);
}

/* ## memory */

static void without_memory_there_are_no_readings(void **state)
{
	struct opened o;
	struct memo *measures;

	needs_failing_allocations();
	o = open_small(state, "base.gguf");
	for (uint64_t k = 1;; k++) {
		allocation_fails(k);
		measures = tensor_measures_new(o.model, SAMPLE_DEFAULT, NULL);
		if (!allocation_failed())
			break;
		assert_null(measures);
	}
	assert_non_null(measures);
	memo_free(measures);
	close_model(&o);
}

static void without_memory_there_is_no_reading_and_later_there_is(void **state)
{
	struct opened o;
	struct memo *measures;
	struct subject graft;
	struct zmeasure expected, z;

	needs_failing_allocations();
	o = open_small(state, "base.gguf");
	measures = new_readings(o.model);
	assert_int_equal(fill_up(o.model, 77), 0);
	expected = z_of_slot(o.model, SMALL_UP);
	graft = slot_of(o.model, SMALL_UP);
	for (uint64_t k = 1;; k++) {
		int rc;

		allocation_fails(k);
		rc = memo_get(measures, &graft, NULL, &z);
		if (!allocation_failed()) {
			assert_int_equal(rc, 0);
			break;
		}
		assert_int_equal(rc, -ENOMEM);
	}
	assert_same_z(&z, &expected);
	memo_free(measures);
	assert_int_equal(graft.content->refs, 2);
	content_unref(graft.content);
	close_model(&o);
}

UNIT_MAIN(temp_setup, temp_teardown)

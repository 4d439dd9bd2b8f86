/* SPDX-License-Identifier: MIT */
/* test_matrix_cache.c - fs/tensor/matrix_cache.c: matrices decoded once. */
#include "fs/storage/backing.h"
#include "fs/tensor/matrix_cache.h"
#include "gguf/types.h"
#include "tests/unit/tasks.h"
#include "tests/unit/zstd_file.h"

static struct backing *file_of(void **state, const float *values, size_t n)
{
	struct backing *file;

	write_file(in_temp(state, "file").text, values, n * sizeof(*values));
	file = backing_open(in_temp(state, "file").text, NULL);
	assert_non_null(file);
	return file;
}

/* Make the file unreadable from now on. */
static void empty_file(void **state, const char *name)
{
	const int fd = open(in_temp(state, name).text, O_WRONLY | O_TRUNC | O_CLOEXEC);

	must(fd >= 0);
	close(fd);
}

static void matrix_is_read_as_stored_or_transposed(void **state)
{
	static const float values[] = { 9, 1, 2, 3, 4, 5, 6 };
	static const float transposed[] = { 1, 4, 2, 5, 3, 6 };
	struct backing *file = file_of(state, values, ARRAY_LENGTH(values));
	struct matrix_key at = {
		.file = file, .offset = 4, .type = GGML_F32, .rows = 2, .length = 3
	};
	struct matrix_cache *matrices = matrix_cache_new();
	const struct matrix *matrix;
	int rc;

	matrix = matrix_cache_get(matrices, &at, 0, NULL, &rc);
	assert_int_equal(rc, 0);
	assert_memory_equal(matrix_values(matrix), values + 1, sizeof(transposed));
	matrix_cache_put(matrix);
	at.transposed = true;
	matrix = matrix_cache_get(matrices, &at, true, NULL, &rc);
	assert_int_equal(rc, 0);
	assert_memory_equal(matrix_values(matrix), transposed, sizeof(transposed));
	/* A reference stays valid after the cache is freed. */
	matrix_cache_unref(matrices);
	assert_memory_equal(matrix_values(matrix), transposed, sizeof(transposed));
	matrix_cache_put(matrix);
	backing_unref(file);
}

static void recent_matrix_is_kept_without_its_file(void **state)
{
	static const float values[] = { 1, 2 };
	struct backing *file = file_of(state, values, ARRAY_LENGTH(values));
	const struct matrix_key at = { .file = file, .type = GGML_F32, .rows = 1, .length = 2 };
	const struct matrix_key other = { .file = file, .type = GGML_F32, .rows = 1, .length = 1 };
	struct matrix_cache *matrices = matrix_cache_new();
	const struct matrix *first, *second;
	int rc;

	first = matrix_cache_get(matrices, &at, 0, NULL, &rc);
	empty_file(state, "file");
	second = matrix_cache_get(matrices, &at, 0, NULL, &rc);
	assert_ptr_equal(first, second);
	assert_null(matrix_cache_get(matrices, &other, 0, NULL, &rc));
	assert_int_equal(rc, -EIO);
	matrix_cache_put(first);
	matrix_cache_put(second);
	matrix_cache_unref(matrices);
	backing_unref(file);
}

/* Count the call; fail the first time. */
static int compute(void *context, float *values)
{
	int *calls = context;

	values[0] = 7;
	return ++*calls == 1 ? -EIO : 0;
}

static void computed_matrix_is_computed_once_unless_it_fails(void **state)
{
	static const float values[] = { 1 };
	struct backing *file = file_of(state, values, ARRAY_LENGTH(values));
	const struct matrix_key lies = { .file = file, .type = GGML_F32, .rows = 1, .length = 1 };
	struct matrix_key at = lies;
	struct matrix_cache *matrices = matrix_cache_new();
	const struct matrix *matrix;
	int calls = 0, rc;

	at.computed = &calls;
	matrix_cache_put(matrix_cache_get(matrices, &lies, 0, NULL, &rc));
	assert_null(matrix_cache_compute(matrices, &at, compute, &calls, NULL, &rc));
	assert_int_equal(rc, -EIO);
	for (int i = 0; i < 2; i++) {
		matrix = matrix_cache_compute(matrices, &at, compute, &calls, NULL, &rc);
		assert_int_equal(rc, 0);
		assert_true(matrix_values(matrix)[0] == 7);
		matrix_cache_put(matrix);
	}
	assert_int_equal(calls, 2);
	matrix_cache_unref(matrices);
	backing_unref(file);
}

struct interrupted {
	struct matrix_cache *matrices;
	struct matrix_key at;
	int rc;
};

static void *get_interrupted(void *argument)
{
	static const atomic_bool stop = true;
	struct interrupted *other = argument;

	assert_null(matrix_cache_compute(other->matrices, &other->at, compute, NULL, &stop,
					 &other->rc));
	return NULL;
}

/* Compute while another thread, which is interrupted, wants the matrix. */
static int compute_slowly(void *context, float *values)
{
	pthread_t thread;

	values[0] = 7;
	must(pthread_create(&thread, NULL, get_interrupted, context) == 0);
	must(pthread_join(thread, NULL) == 0);
	return 0;
}

static void interrupted_request_waits_for_no_matrix(void **state)
{
	static const float values[] = { 1 };
	struct interrupted other = { .matrices = matrix_cache_new() };
	const struct matrix *matrix;
	int rc;

	other.at = (struct matrix_key){ .file = file_of(state, values, ARRAY_LENGTH(values)),
					.rows = 1,
					.length = 1,
					.computed = &other };
	matrix = matrix_cache_compute(other.matrices, &other.at, compute_slowly, &other, NULL, &rc);
	assert_int_equal(other.rc, -EINTR);
	assert_true(matrix_values(matrix)[0] == 7);
	matrix_cache_put(matrix);
	matrix_cache_unref(other.matrices);
	backing_unref(other.at.file);
}

/* Two matrices exceed the cache together: the second one stays, the first one is read again. */
static void cache_stays_within_its_limit(void **state)
{
	const uint64_t half = MATRIX_CACHE_BYTES / sizeof(float) / 2 + 1;
	float *values = calloc(half + 1, sizeof(*values));
	struct backing *file;
	struct matrix_key at = { .type = GGML_F32, .rows = 1, .length = half };
	struct matrix_cache *matrices = matrix_cache_new();
	int rc;

	must(values);
	file = file_of(state, values, half + 1);
	free(values);
	at.file = file;
	matrix_cache_put(matrix_cache_get(matrices, &at, 0, NULL, &rc));
	at.offset = 4;
	matrix_cache_put(matrix_cache_get(matrices, &at, 0, NULL, &rc));
	empty_file(state, "file");
	matrix_cache_put(matrix_cache_get(matrices, &at, 0, NULL, &rc));
	assert_int_equal(rc, 0);
	at.offset = 0;
	assert_null(matrix_cache_get(matrices, &at, 0, NULL, &rc));
	matrix_cache_unref(matrices);
	backing_unref(file);
}

/* Count the call. */
static int compute_well(void *context, float *values)
{
	int *calls = context;

	values[0] = 7;
	++*calls;
	return 0;
}

/* Check whether another matrix of that many values evicts the last ones. */
static void check_computed(void **state, uint64_t values, int computed_again)
{
	const uint64_t most = MATRIX_CACHE_BYTES / sizeof(float) / 4;
	float *zeros = calloc(most, sizeof(*zeros));
	struct matrix_cache *matrices = matrix_cache_new();
	struct matrix_key lies = { .type = GGML_F32, .rows = 1, .length = most }, at = lies;
	int calls = 0, rc;

	must(zeros);
	lies.file = at.file = file_of(state, zeros, most);
	free(zeros);
	at.length = values;
	at.computed = &calls;
	matrix_cache_put(matrix_cache_compute(matrices, &at, compute_well, &calls, NULL, &rc));
	for (int i = 0; i < 3; i++) {
		matrix_cache_put(matrix_cache_get(matrices, &lies, 0, NULL, &rc));
		lies.length--;
	}
	matrix_cache_put(matrix_cache_compute(matrices, &at, compute_well, &calls, NULL, &rc));
	assert_int_equal(calls, 1 + computed_again);
	matrix_cache_unref(matrices);
	backing_unref(lies.file);
}

static void computed_matrices_outlive_read_ones_in_half_the_room(void **state)
{
	check_computed(state, MATRIX_CACHE_BYTES / sizeof(float) / 2, 0);
	check_computed(state, MATRIX_CACHE_BYTES / sizeof(float) / 2 + 1, 1);
}

static void dropped_file_leaves_no_matrix(void **state)
{
	static const float values[] = { 1, 2 };
	struct backing *file = file_of(state, values, ARRAY_LENGTH(values));
	const struct matrix_key at = { .file = file, .type = GGML_F32, .rows = 1, .length = 2 };
	struct matrix_key other = at;
	struct matrix_cache *matrices = matrix_cache_new();
	int rc;

	other.file = backing_open(in_temp(state, "file").text, NULL);
	matrix_cache_put(matrix_cache_get(matrices, &at, 0, NULL, &rc));
	matrix_cache_put(matrix_cache_get(matrices, &other, 0, NULL, &rc));
	matrix_cache_drop_file(matrices, file);
	empty_file(state, "file");
	matrix_cache_put(matrix_cache_get(matrices, &other, 0, NULL, &rc));
	assert_int_equal(rc, 0);
	assert_null(matrix_cache_get(matrices, &at, 0, NULL, &rc));
	matrix_cache_unref(matrices);
	backing_unref(file);
	backing_unref(other.file);
}

/* A disk that does not answer before it is released. */
struct disk {
	atomic_bool asked, answers;
};

static int read_slowly(void *context, unsigned flags, void *bytes, size_t n, uint64_t offset,
		       const atomic_bool *stop)
{
	struct disk *disk = context;

	(void)flags;
	(void)offset;
	(void)stop;
	memset(bytes, 0, n);
	for (disk->asked = true; !disk->answers;)
		tick();
	return 0;
}

static void release_disk(void *context)
{
	(void)context;
}

struct waiting {
	struct matrix_cache *matrices;
	struct matrix_key at;
};

static void *get_matrix(void *argument)
{
	struct waiting *waiting = argument;
	int rc;

	matrix_cache_put(matrix_cache_get(waiting->matrices, &waiting->at, 0, NULL, &rc));
	return NULL;
}

static void nobody_waits_for_another_matrixs_disk(void **state)
{
	static const float values[] = { 1, 2 };
	struct backing *file = file_of(state, values, ARRAY_LENGTH(values));
	struct disk disk = { false, false };
	const struct backing_ops parts = { .read = read_slowly,
					   .release = release_disk,
					   .context = &disk };
	struct backing *slow = backing_from_ops(&parts, "slow", backing_stat(file));
	struct waiting waiting = { .matrices = matrix_cache_new() };
	struct matrix_key at = { .file = file, .type = GGML_F32, .rows = 1, .length = 2 };
	struct task task;
	int rc;

	waiting.at = at;
	waiting.at.file = slow;
	task_begin(&task, get_matrix, &waiting);
	while (!disk.asked)
		tick();
	matrix_cache_put(matrix_cache_get(waiting.matrices, &at, 0, NULL, &rc));
	assert_int_equal(rc, 0);
	matrix_cache_drop_file(waiting.matrices, slow);
	disk.answers = true;
	task_end(&task);
	matrix_cache_unref(waiting.matrices);
	backing_unref(slow);
	backing_unref(file);
}

UNIT_MAIN(temp_setup, temp_teardown)

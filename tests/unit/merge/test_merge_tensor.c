/* SPDX-License-Identifier: MIT */
/* test_merge_tensor.c - fs/merge/merge_tensor.c, merge_passes.c and merge_rows.c: a tensor of
 * several models, merged when it is read. */
#include "fs/merge/merge_tensor.h"
#include "fs/storage/backing.h"
#include "fs/tensor/codec.h"
#include "gguf/dequant.h"
#include "gguf/quant.h"
#include "tests/unit/merges.h"
#include "tests/unit/tasks.h"
#include "tests/unit/zinputs.h"
#include "tests/unit/zstd_file.h"

#include <pthread.h>

/* Offset of each tensor in its file. */
#define AT 37u

/* Control over the reads of all files of a scene. */
struct control {
	atomic_uint reads;
	unsigned fail_at, stop_at; /* reads at which to fail, and to set stop; 0: none */
	atomic_bool stop;
	atomic_bool hold, held; /* while hold is true a read waits, and sets held */
};

struct memory_file {
	struct control *control;
	size_t n;
	uint8_t bytes[];
};

static int read_memory(void *context, unsigned flags, void *bytes, size_t n, uint64_t offset,
		       const atomic_bool *stop)
{
	const struct memory_file *file = context;
	const unsigned k = atomic_fetch_add(&file->control->reads, 1) + 1;

	(void)flags;
	(void)stop;
	must(offset <= file->n && n <= file->n - offset);
	while (atomic_load(&file->control->hold)) {
		atomic_store(&file->control->held, true);
		tick();
	}
	if (k == file->control->stop_at)
		atomic_store(&file->control->stop, true);
	memcpy(bytes, file->bytes + offset, n);
	return k == file->control->fail_at ? -EIO : 0;
}

/* A file with n bytes from AT on. */
static struct backing *memory_backing(struct control *control, const void *bytes, size_t n)
{
	struct memory_file *file = calloc(1, sizeof(*file) + AT + n);
	const struct stat stat = { .st_size = (off_t)(AT + n) };
	struct backing *backing;

	must(file);
	file->control = control;
	file->n = AT + n;
	memcpy(file->bytes + AT, bytes, n);
	backing = backing_from_ops(&(struct backing_ops){ .read = read_memory,
							  .release = free,
							  .context = file },
				   "/memory", &stat);
	must(backing);
	return backing;
}

struct scene {
	struct control control;
	struct merge_tensor tensor; /* its files belong to the scene */
	struct merge_models models; /* the decoded inputs */
	size_t values, size;	    /* number of values, and bytes, of the result */
};

static size_t bytes_of(uint32_t type, size_t values)
{
	const struct type_info *info = type_find(type);

	return values / info->block_elements * info->block_bytes;
}

/* Encode the values in that type, and replace them by the decoded ones; caller frees. For Q4_K the
 * bytes are random, with small scales. */
static uint8_t *encoded(uint32_t type, float *values, size_t n, uint32_t seed)
{
	const struct type_info *info = type_find(type);
	const size_t size = bytes_of(type, n);
	uint8_t *bytes = malloc(size + 1);

	must(bytes);
	if (type == GGML_Q4_K) {
		for (size_t i = 0; i < size; i++)
			bytes[i] = mk_byte(seed, i);
		for (size_t i = 0; i < size; i += info->block_bytes)
			bytes[i + 1] = bytes[i + 3] = 0x14;
	} else {
		quant_row(type, values, n, NULL, bytes);
	}
	dequant_blocks(type, bytes, n / info->block_elements, values);
	return bytes;
}

static void put_bytes(struct scene *scene, struct merge_data *data, uint32_t type,
		      const uint8_t *bytes)
{
	data->file = memory_backing(&scene->control, bytes, bytes_of(type, scene->values));
	data->offset = AT;
	data->type = type;
}

static void put_file(struct scene *scene, struct merge_data *data, uint32_t type, float *values,
		     uint32_t seed)
{
	uint8_t *bytes = encoded(type, values, scene->values, seed);

	put_bytes(scene, data, type, bytes);
	free(bytes);
}

/* Begin a scene without files. */
static void begin_scene(struct scene *scene, const struct merge_rule *rule,
			const uint64_t ne[GGML_AXES], uint32_t base_type,
			struct merge_models models)
{
	memset(scene, 0, sizeof(*scene));
	scene->tensor.rule = *rule;
	memcpy(scene->tensor.ne, ne, sizeof(scene->tensor.ne));
	scene->values = to_size(rule->rows * rule->columns);
	scene->models = models;
	scene->tensor.type = merge_tensor_type(base_type, ne, MERGE_TYPE_AS_IS, ENCODE_Q8_0);
	scene->size = bytes_of(scene->tensor.type, scene->values);
}

/* Open models for the rule, with the rows and columns of ne, of that type except the base. */
static void open_models(struct scene *scene, const struct merge_rule *rule,
			const uint64_t ne[GGML_AXES], uint32_t base_type, uint32_t type,
			struct merge_models models)
{
	begin_scene(scene, rule, ne, base_type, models);
	if (merge_uses_base(rule))
		put_file(scene, &scene->tensor.base, base_type, models.base, 99);
	for (unsigned i = 0; i < rule->n; i++)
		put_file(scene, &scene->tensor.inputs[i], type, models.inputs[i], i);
}

static void open_scene(struct scene *scene, struct merge_rule rule, const uint64_t ne[GGML_AXES],
		       uint32_t base_type, uint32_t type)
{
	rule.columns = ne[0];
	rule.rows = ne[1] * ne[2] * ne[3];
	open_models(scene, &rule, ne, base_type, type, merge_models_new(&rule, 5));
}

static void close_scene(struct scene *scene)
{
	backing_unref(scene->tensor.base.file);
	for (unsigned i = 0; i < scene->tensor.rule.n; i++)
		backing_unref(scene->tensor.inputs[i].file);
	merge_models_free(&scene->models);
}

static struct merge_rule rule_of(enum merge_method method)
{
	return merge_rule_of(method, method == MERGE_PASSTHROUGH ? 1 : 2, 1, 1, "blk.0.w");
}

static struct backing *open_merged(const struct scene *scene)
{
	const struct merge_tensor *kept;
	struct backing *merged = merge_tensor_new(&scene->tensor, &kept);

	assert_non_null(merged);
	assert_int_equal(backing_size(merged), scene->size);
	assert_true(backing_is_computed(merged));
	return merged;
}

/* Result of measure/ for all values at once, encoded; caller frees. */
static uint8_t *expected_bytes(const struct scene *scene)
{
	float *values = new_values(scene->values);
	uint8_t *bytes = malloc(scene->size + 1);

	must(bytes);
	merge_all(&scene->tensor.rule, &scene->models, 1, values);
	quant_row(scene->tensor.type, values, scene->values, NULL, bytes);
	free(values);
	return bytes;
}

/* Check reads of the whole, in pages from the last one on, and at random. */
static void check_reads(struct backing *merged, const uint8_t *expected, size_t n)
{
	uint8_t *bytes = calloc(n + 1, 1);
	uint32_t seed = 3;

	must(bytes);
	assert_int_equal(backing_read(merged, bytes, n, 0), 0);
	assert_memory_equal(bytes, expected, n);
	memset(bytes, 0, n);
	for (size_t at = n / 4096 * 4096;; at -= 4096) {
		const size_t part = n - at < 4096 ? n - at : 4096;

		assert_int_equal(backing_read_with(merged, BACKING_SPANS | BACKING_UNCHECKED,
						   bytes + at, part, at),
				 0);
		if (at == 0)
			break;
	}
	assert_memory_equal(bytes, expected, n);
	for (unsigned i = 0; i < 50; i++) {
		const size_t at = (size_t)(lcg(&seed) * (double)n);
		const size_t most = i % 8 && n - at > 1000 ? 1000 : n - at;
		const size_t part = (size_t)(lcg(&seed) * (double)most);

		assert_int_equal(backing_read(merged, bytes, part, at), 0);
		assert_memory_equal(bytes, expected + at, part);
	}
	free(bytes);
}

static void check_scene(struct scene *scene)
{
	struct backing *merged = open_merged(scene);
	uint8_t *expected = expected_bytes(scene);

	check_reads(merged, expected, scene->size);
	backing_unref(merged);
	/* The first read may be of a few bytes. */
	merged = open_merged(scene);
	if (scene->size > 7) {
		uint8_t bytes[5];

		assert_int_equal(backing_read(merged, bytes, 5, scene->size - 7), 0);
		assert_memory_equal(bytes, expected + scene->size - 7, 5);
	}
	backing_unref(merged);
	free(expected);
	close_scene(scene);
}

/* ## results */

static void merge_as_backing(void *context, const struct merge_rule *rule,
			     const struct merge_models *models, float *result)
{
	const uint64_t ne[GGML_AXES] = { rule->columns, rule->rows, 1, 1 };
	const size_t n = to_size(rule->rows * rule->columns) * sizeof(*result);
	struct merge_models copies = { .base = new_values(n) };
	struct backing *merged;
	struct scene scene;

	(void)context;
	memcpy(copies.base, models->base, n);
	for (unsigned i = 0; i < rule->n; i++) {
		copies.inputs[i] = new_values(n);
		memcpy(copies.inputs[i], models->inputs[i], n);
	}
	open_models(&scene, rule, ne, GGML_F32, GGML_F32, copies);
	merged = open_merged(&scene);
	assert_int_equal(backing_read(merged, result, n, 0), 0);
	backing_unref(merged);
	close_scene(&scene);
}

static void every_method_agrees_with_the_table(void **state)
{
	(void)state;
	check_golden_merges(merge_as_backing, NULL);
}

static void every_method_gives_the_same_bytes_however_it_is_read(void **state)
{
	static const uint64_t shapes[][GGML_AXES] = {
		{ 1, 1, 1, 1 },	 { 513, 1, 1, 1 }, { 7, 1000, 1, 1 },
		{ 65, 3, 5, 2 }, { 96, 64, 1, 2 }, { 1, 700, 1, 1 },
	};
	static const uint32_t types[] = { GGML_F32, GGML_F16, GGML_BF16 };

	(void)state;
	for (enum merge_method method = 0; method < MERGE_METHODS; method++)
		for (size_t s = 0; s < ARRAY_LENGTH(shapes); s++) {
			struct merge_rule rule = rule_of(method);
			struct scene scene;

			rule.has_base = s % 2;
			open_scene(&scene, rule, shapes[s], types[s % 3], types[(s + s / 3) % 3]);
			check_scene(&scene);
		}
}

static void tensors_of_any_type_become_an_encodable_type(void **state)
{
	static const uint64_t ne[GGML_AXES] = { 512, 33, 2, 1 };

	(void)state;
	for (enum merge_method method = 0; method < MERGE_METHODS; method++) {
		struct scene scene;

		open_scene(&scene, rule_of(method), ne, GGML_Q4_K, GGML_Q4_K);
		assert_int_equal(scene.tensor.type, GGML_Q8_0);
		check_scene(&scene);
		open_scene(&scene, rule_of(method), ne, GGML_Q8_0, GGML_F16);
		assert_int_equal(scene.tensor.type, GGML_Q8_0);
		check_scene(&scene);
	}
}

static void vectors_of_rows_and_of_columns_have_factors_of_their_own(void **state)
{
	static const uint64_t ne[GGML_AXES] = { 70, 41, 3, 1 };
	struct merge_rule rule = rule_of(MERGE_NUSLERP);

	(void)state;
	for (rule.extent = MERGE_WHOLE; rule.extent <= MERGE_COLUMNS; rule.extent++) {
		struct scene scene;

		open_scene(&scene, rule, ne, GGML_F32, GGML_F16);
		check_scene(&scene);
	}
}

/* The tensor has more rows than one round works on. */
static void tensors_longer_than_the_memory_for_rows_are_merged(void **state)
{
	static const uint64_t ne[GGML_AXES] = { 700, 200, 1, 1 };

	(void)state;
	for (enum merge_method method = 0; method < MERGE_METHODS; method++) {
		struct scene scene;

		open_scene(&scene, rule_of(method), ne, GGML_F16, GGML_F16);
		check_scene(&scene);
	}
}

static void finite_values_stay_finite(void **state)
{
	static const uint64_t ne[GGML_AXES] = { 32, 2, 1, 1 };
	struct merge_rule rule = rule_of(MERGE_PASSTHROUGH);
	struct merge_models models;
	struct backing *merged;
	struct scene scene;
	float values[64];
	uint8_t bytes[128];

	(void)state;
	rule.columns = 32;
	rule.rows = 2;
	rule.inputs[0].weight = 3.0;
	models = merge_models_new(&rule, 1);
	models.inputs[0][0] = 40000.0f;
	models.inputs[0][40] = -40000.0f;
	models.inputs[0][41] = INFINITY;
	models.inputs[0][42] = NAN;
	open_models(&scene, &rule, ne, GGML_F16, GGML_F16, models);
	merged = open_merged(&scene);
	assert_int_equal(backing_read(merged, bytes, sizeof(bytes), 0), 0);
	dequant_blocks(GGML_F16, bytes, 64, values);
	assert_true(values[0] == 65504.0f && values[40] == -65504.0f);
	assert_true(isinf(values[41]) && isnan(values[42]));
	backing_unref(merged);
	close_scene(&scene);
}

static void result_type_has_an_encoder(void **state)
{
	static const uint64_t ne[GGML_AXES] = { 64, 3, 1, 1 }, row[GGML_AXES] = { 64, 1, 1, 1 },
			      odd[GGML_AXES] = { 63, 1, 3, 1 };

	(void)state;
	assert_int_equal(merge_tensor_type(GGML_Q4_K, ne, MERGE_TYPE_AS_IS, ENCODE_Q8_0),
			 GGML_Q8_0);
	assert_int_equal(merge_tensor_type(GGML_Q4_0, ne, MERGE_TYPE_AS_IS, ENCODE_KEEP),
			 GGML_Q4_0);
	assert_int_equal(merge_tensor_type(GGML_F64, odd, MERGE_TYPE_AS_IS, ENCODE_Q8_0), GGML_F16);
	assert_int_equal(merge_tensor_type(GGML_BF16, odd, MERGE_TYPE_AS_IS, ENCODE_Q8_0),
			 GGML_BF16);
	assert_int_equal(merge_tensor_type(GGML_Q4_K, ne, GGML_F16, ENCODE_Q8_0), GGML_F16);
	assert_int_equal(merge_tensor_type(GGML_F32, ne, GGML_F16, ENCODE_Q8_0), GGML_F16);
	assert_int_equal(merge_tensor_type(GGML_F32, row, GGML_F16, ENCODE_Q8_0), GGML_F32);
	assert_int_equal(merge_tensor_type(GGML_F32, odd, GGML_BF16, ENCODE_Q8_0), GGML_BF16);
	assert_int_equal(merge_tensor_type(GGML_F32, ne, GGML_Q8_0, ENCODE_Q8_0), GGML_Q8_0);
	assert_int_equal(merge_tensor_type(GGML_F32, odd, GGML_Q8_0, ENCODE_Q8_0), GGML_F32);
}

static void tensor_beyond_memory_is_refused(void **state)
{
	static const uint64_t ne[GGML_AXES] = { 8, 3, 1, 1 };
	const struct merge_tensor *kept;
	struct merge_tensor other;
	struct scene scene;

	(void)state;
	open_scene(&scene, rule_of(MERGE_DELLA), ne, GGML_F32, GGML_F32);
	other = scene.tensor;
	other.ne[0] = other.rule.columns = (uint64_t)UINT32_MAX + 1;
	assert_null(merge_tensor_new(&other, &kept));
	other.rule.method = MERGE_LINEAR;
	other.ne[0] = other.rule.columns = (uint64_t)1 << 60;
	assert_null(merge_tensor_new(&other, &kept));
	other.ne[0] = other.rule.columns = (uint64_t)1 << 40;
	other.ne[1] = other.rule.rows = (uint64_t)1 << 22;
	assert_null(merge_tensor_new(&other, &kept));
	other.ne[0] = other.rule.columns = 0;
	struct backing *empty = merge_tensor_new(&other, &kept);

	assert_non_null(empty);
	assert_int_equal(backing_size(empty), 0);
	backing_unref(empty);
	close_scene(&scene);
}

/* ## equal bytes */

enum { EQUAL_VALUES = 64 * 5000, EQUAL_BYTES = EQUAL_VALUES / 32 * 34 };

/* Put a tensor of type Q8_0. Returns its decoded values. */
static float *put_equal(struct scene *scene, struct merge_data *data, const uint8_t *bytes)
{
	float *values = new_values(scene->values);

	put_bytes(scene, data, GGML_Q8_0, bytes);
	dequant_blocks(GGML_Q8_0, bytes, scene->values / 32, values);
	return values;
}

/* Open models that all equal the base, with scales that an encoder would not choose; the last one
 * differs in one bit of that byte. */
static void open_equal(struct scene *scene, struct merge_rule rule, size_t differs_at)
{
	static const uint64_t ne[GGML_AXES] = { 64, EQUAL_VALUES / 64, 1, 1 };
	uint8_t *bytes = malloc(EQUAL_BYTES);

	must(bytes);
	rule.columns = ne[0];
	rule.rows = ne[1];
	for (size_t i = 0; i < EQUAL_BYTES; i++)
		bytes[i] = i % 34 == 1 ? 0x14 : (uint8_t)(mk_byte(3, i) / 3);
	begin_scene(scene, &rule, ne, GGML_Q8_0, (struct merge_models){ .base = NULL });
	if (merge_uses_base(&rule))
		scene->models.base = put_equal(scene, &scene->tensor.base, bytes);
	for (unsigned i = 0; i < rule.n; i++) {
		if (i + 1 == rule.n && differs_at < EQUAL_BYTES)
			bytes[differs_at] ^= 1;
		scene->models.inputs[i] = put_equal(scene, &scene->tensor.inputs[i], bytes);
	}
	free(bytes);
}

/* Check that a read gives the first input's bytes, or the expected merge of all inputs. */
static void check_equal(struct merge_rule rule, size_t differs_at, bool passed_on)
{
	struct scene scene;
	struct backing *merged;
	uint8_t *expected;

	open_equal(&scene, rule, differs_at);
	if (passed_on) {
		expected = malloc(EQUAL_BYTES);
		must(expected);
		assert_int_equal(backing_read(scene.tensor.inputs[0].file, expected, EQUAL_BYTES,
					      AT),
				 0);
	} else {
		expected = expected_bytes(&scene);
	}
	merged = open_merged(&scene);
	check_reads(merged, expected, scene.size);
	backing_unref(merged);
	close_scene(&scene);
	free(expected);
}

static void equal_bytes_are_the_results_to_the_bit(void **state)
{
	(void)state;
	for (enum merge_method method = 0; method < MERGE_METHODS; method++) {
		struct merge_rule rule = rule_of(method);

		if (method == MERGE_PASSTHROUGH)
			rule.inputs[0].weight = 1.0;
		check_equal(rule, SIZE_MAX, true);
	}
}

static void input_that_differs_in_one_bit_is_merged(void **state)
{
	(void)state;
	check_equal(rule_of(MERGE_TASK_ARITHMETIC), EQUAL_BYTES - 1, false);
	check_equal(rule_of(MERGE_SLERP), 3, false);
	check_equal(rule_of(MERGE_LINEAR), 300000, false);
}

static void a_method_that_changes_equal_tensors_changes_them(void **state)
{
	struct merge_rule rule = rule_of(MERGE_LINEAR);

	(void)state;
	rule.normalize = false;
	check_equal(rule, SIZE_MAX, false);
	rule.inputs[1].weight = 0.4;
	check_equal(rule, SIZE_MAX, true);
	rule.normalize = true;
	rule.inputs[1].weight = -0.6;
	check_equal(rule, SIZE_MAX, false);
	rule = rule_of(MERGE_PASSTHROUGH);
	check_equal(rule, SIZE_MAX, false);
}

static void equal_bytes_of_another_type_are_encoded(void **state)
{
	static const uint64_t ne[GGML_AXES] = { 32, 4, 1, 1 };
	struct scene scene;

	(void)state;
	open_scene(&scene, rule_of(MERGE_LINEAR), ne, GGML_F16, GGML_F32);
	backing_unref(scene.tensor.inputs[1].file);
	scene.tensor.inputs[1].file = backing_ref(scene.tensor.inputs[0].file);
	memcpy(scene.models.inputs[1], scene.models.inputs[0], 128 * sizeof(float));
	check_scene(&scene);
}

/* No other read follows the first one. */
static void the_same_place_in_a_file_is_not_compared(void **state)
{
	static const uint64_t ne[GGML_AXES] = { 32, 4, 1, 1 };
	struct backing *merged;
	struct scene scene;
	uint8_t byte;

	(void)state;
	open_scene(&scene, rule_of(MERGE_TIES), ne, GGML_F32, GGML_F32);
	for (unsigned i = 0; i < 2; i++) {
		backing_unref(scene.tensor.inputs[i].file);
		scene.tensor.inputs[i].file = backing_ref(scene.tensor.base.file);
	}
	merged = open_merged(&scene);
	assert_int_equal(backing_read(merged, &byte, 1, 9), 0);
	assert_int_equal(atomic_load(&scene.control.reads), 1);
	backing_unref(merged);
	close_scene(&scene);
}

/* ## failures */

/* A merge with several passes over several chunks, and its result. */
struct long_merge {
	struct scene scene;
	uint8_t *expected, *bytes;
};

static void open_long(struct long_merge *l, enum merge_method method)
{
	static const uint64_t ne[GGML_AXES] = { 700, 200, 1, 1 };

	open_scene(&l->scene, rule_of(method), ne, GGML_F16, GGML_F16);
	l->expected = expected_bytes(&l->scene);
	l->bytes = malloc(l->scene.size);
	must(l->bytes);
}

static void close_long(struct long_merge *l)
{
	close_scene(&l->scene);
	free(l->expected);
	free(l->bytes);
}

/* Merge and read all; the stop_at-th read of the files interrupts, and the fail_at-th one fails.
 * After a failure do it once more. Returns the first result; *reads counts the reads of both
 * runs. */
static int read_long(struct long_merge *l, unsigned stop_at, unsigned fail_at, unsigned *reads)
{
	struct control *control = &l->scene.control;
	struct backing *merged = open_merged(&l->scene);
	int rc;

	atomic_store(&control->reads, 0);
	atomic_store(&control->stop, false);
	control->stop_at = stop_at;
	control->fail_at = fail_at;
	memset(l->bytes, 0, l->scene.size);
	rc = backing_read_cancellable(merged, 0, l->bytes, l->scene.size, 0, &control->stop);
	if (rc < 0)
		assert_int_equal(backing_read(merged, l->bytes, l->scene.size, 0), 0);
	assert_memory_equal(l->bytes, l->expected, l->scene.size);
	*reads = atomic_load(&control->reads);
	backing_unref(merged);
	return rc;
}

static void interrupted_reader_leaves_its_results_to_the_next(void **state)
{
	struct long_merge l;
	unsigned reads, all, k = 1;
	int rc;

	(void)state;
	open_long(&l, MERGE_TIES);
	assert_int_equal(read_long(&l, 0, 0, &all), 0);
	for (; (rc = read_long(&l, k, 0, &reads)) < 0; k++) {
		assert_int_equal(rc, -EINTR);
		assert_int_equal(reads, all);
	}
	close_long(&l);
	/* An interrupt counts during all three passes, but not between rows. */
	assert_between(k, all / 2, all - 3);
}

/* Two chunks of three files are compared, then one of the files is read. */
static void an_interrupted_comparison_is_not_begun_anew(void **state)
{
	struct backing *merged;
	struct scene scene;
	uint8_t byte;

	(void)state;
	open_equal(&scene, rule_of(MERGE_TIES), SIZE_MAX);
	merged = open_merged(&scene);
	scene.control.stop_at = 2;
	assert_int_equal(backing_read_cancellable(merged, 0, &byte, 1, 0, &scene.control.stop),
			 -EINTR);
	assert_int_equal(atomic_load(&scene.control.reads), 3);
	assert_int_equal(backing_read(merged, &byte, 1, 0), 0);
	assert_int_equal(atomic_load(&scene.control.reads), 7);
	backing_unref(merged);
	close_scene(&scene);
}

static void a_read_that_fails_is_tried_again_by_the_next_reader(void **state)
{
	static const enum merge_method methods[] = { MERGE_LINEAR, MERGE_TIES, MERGE_SLERP };

	(void)state;
	for (size_t m = 0; m < ARRAY_LENGTH(methods); m++) {
		struct long_merge l;
		unsigned reads, k = 1;
		int rc;

		open_long(&l, methods[m]);
		for (; (rc = read_long(&l, 0, k, &reads)) < 0; k += 3)
			assert_int_equal(rc, -EIO);
		assert_true(k > 3 && reads < k);
		close_long(&l);
	}
}

static void a_file_that_was_changed_cannot_be_merged(void **state)
{
	static const uint64_t ne[GGML_AXES] = { 32, 4, 1, 1 };
	struct backing *merged;
	struct scene scene;
	uint8_t bytes[512] = { 0 };

	open_scene(&scene, rule_of(MERGE_SLERP), ne, GGML_F32, GGML_F32);
	write_file(in_temp(state, "donor").text, bytes, sizeof(bytes));
	backing_unref(scene.tensor.inputs[1].file);
	scene.tensor.inputs[1].file = backing_open(in_temp(state, "donor").text, NULL);
	scene.tensor.inputs[1].offset = 0;
	merged = open_merged(&scene);
	change_times(state, "donor");
	assert_int_equal(backing_read(merged, bytes, 100, 0), -EIO);
	restore_times(state, "donor");
	assert_int_equal(backing_read(merged, bytes, 100, 0), 0);
	change_times(state, "donor");
	assert_int_equal(backing_read(merged, bytes, 100, 256), -EIO);
	backing_unref(merged);
	close_scene(&scene);
}

static void without_memory_nothing_is_lost(void **state)
{
	static const uint64_t ne[GGML_AXES] = { 64, 7, 1, 1 };

	(void)state;
	needs_failing_allocations();
	for (enum merge_method method = 0; method < MERGE_METHODS; method++) {
		struct merge_rule rule = rule_of(method);
		uint8_t *expected, *bytes;
		struct scene scene;
		uint64_t k = 1;

		rule.extent = MERGE_COLUMNS;
		open_scene(&scene, rule, ne, GGML_F16, GGML_F16);
		expected = expected_bytes(&scene);
		bytes = malloc(scene.size);
		must(bytes);
		for (;; k++) {
			const struct merge_tensor *kept;
			struct backing *merged;
			int rc = -ENOMEM;

			allocation_fails(k);
			merged = merge_tensor_new(&scene.tensor, &kept);
			if (merged)
				rc = backing_read(merged, bytes, scene.size - 1, 0);
			if (!allocation_failed()) {
				assert_int_equal(rc, 0);
				assert_memory_equal(bytes, expected, scene.size - 1);
				backing_unref(merged);
				break;
			}
			assert_int_equal(rc, -ENOMEM);
			if (merged) {
				assert_int_equal(backing_read(merged, bytes, scene.size, 0), 0);
				assert_memory_equal(bytes, expected, scene.size);
			}
			backing_unref(merged);
		}
		assert_true(k > 6);
		close_scene(&scene);
		free(expected);
		free(bytes);
	}
}

/* ## threads */

struct reader {
	pthread_t thread;
	struct backing *merged;
	const uint8_t *expected;
	size_t n;
	uint32_t seed;
	bool right;
};

static void *read_at_random(void *context)
{
	struct reader *reader = context;
	uint8_t *bytes = malloc(reader->n);

	must(bytes);
	reader->right = true;
	for (unsigned i = 0; i < 40; i++) {
		const size_t at = (size_t)(lcg(&reader->seed) * (double)reader->n);
		const size_t most = i % 2 ? 100 : reader->n;
		const size_t part =
			(size_t)(lcg(&reader->seed) *
				 (double)(most < reader->n - at ? most : reader->n - at));

		reader->right = reader->right &&
				backing_read(reader->merged, bytes, part, at) == 0 &&
				memcmp(bytes, reader->expected + at, part) == 0;
	}
	free(bytes);
	return NULL;
}

static void threads_read_the_same_bytes(void **state)
{
	static const uint64_t ne[GGML_AXES] = { 70, 300, 1, 1 };
	static const enum merge_method methods[] = { MERGE_TIES, MERGE_DELLA, MERGE_NUSLERP };

	(void)state;
	for (size_t m = 0; m < ARRAY_LENGTH(methods); m++) {
		struct reader readers[4];
		struct backing *merged;
		struct scene scene;
		uint8_t *expected;

		open_scene(&scene, rule_of(methods[m]), ne, GGML_F16, GGML_F16);
		expected = expected_bytes(&scene);
		merged = open_merged(&scene);
		for (unsigned i = 0; i < ARRAY_LENGTH(readers); i++) {
			readers[i] = (struct reader){
				.merged = merged, .expected = expected, .n = scene.size, .seed = i
			};
			assert_int_equal(pthread_create(&readers[i].thread, NULL, read_at_random,
							&readers[i]),
					 0);
		}
		for (unsigned i = 0; i < ARRAY_LENGTH(readers); i++) {
			assert_int_equal(pthread_join(readers[i].thread, NULL), 0);
			assert_true(readers[i].right);
		}
		backing_unref(merged);
		close_scene(&scene);
		free(expected);
	}
}

static void a_reader_that_waits_for_a_pass_of_another_can_be_interrupted(void **state)
{
	static const uint64_t ne[GGML_AXES] = { 70, 300, 1, 1 };
	const atomic_bool stop = true;
	struct reader reader = { .seed = 7 };
	struct scene scene;
	uint8_t bytes[560];

	(void)state;
	open_scene(&scene, rule_of(MERGE_TIES), ne, GGML_F32, GGML_F32);
	reader.n = scene.size;
	reader.expected = expected_bytes(&scene);
	reader.merged = open_merged(&scene);
	atomic_store(&scene.control.hold, true);
	assert_int_equal(pthread_create(&reader.thread, NULL, read_at_random, &reader), 0);
	while (!atomic_load(&scene.control.held))
		tick();
	assert_int_equal(backing_read_cancellable(reader.merged, 0, bytes, sizeof(bytes), 0, &stop),
			 -EINTR);
	atomic_store(&scene.control.hold, false);
	assert_int_equal(pthread_join(reader.thread, NULL), 0);
	assert_true(reader.right);
	assert_int_equal(backing_read_cancellable(reader.merged, 0, bytes, sizeof(bytes), 0, &stop),
			 0);
	backing_unref(reader.merged);
	free((void *)(uintptr_t)reader.expected);
	close_scene(&scene);
}

UNIT_MAIN(temp_setup, temp_teardown)

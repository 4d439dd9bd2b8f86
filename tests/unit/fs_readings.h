/* SPDX-License-Identifier: MIT */
/* fs_readings.h - what the tests of everything with a Z-measure in it share: the measure as it has
 * to be, figures with measures of a test's choice, and subjects. */
#ifndef TESTS_UNIT_FS_READINGS_H
#define TESTS_UNIT_FS_READINGS_H

#include "fs/lazy/figures.h"
#include "fs/lazy/tensor_measures.h"
#include "fs/tensor/sampling.h"
#include "gguf/dequant.h"
#include "tests/unit/fs_model.h"

#include <math.h>

/* ## measures */

static inline bool same_double(double a, double b)
{
	return memcmp(&a, &b, sizeof(a)) == 0 || (isnan(a) && isnan(b));
}

static inline bool same_z(const struct zmeasure *a, const struct zmeasure *b)
{
	return a->status == b->status && a->elements == b->elements && a->sampled == b->sampled &&
	       a->nonfinite == b->nonfinite && a->low_n == b->low_n &&
	       a->has_magnitude == b->has_magnitude && same_double(a->entropy, b->entropy) &&
	       same_double(a->kurtosis, b->kurtosis) && same_double(a->spacing, b->spacing) &&
	       same_double(a->s_entropy, b->s_entropy) &&
	       same_double(a->s_kurtosis, b->s_kurtosis) &&
	       same_double(a->s_spacing, b->s_spacing) && same_double(a->signal, b->signal) &&
	       same_double(a->theta, b->theta) && same_double(a->magnitude, b->magnitude);
}

#define assert_same_z(a, b) unit_assert_same_z(a, b, __FILE__, __LINE__)

static inline void unit_assert_same_z(const struct zmeasure *a, const struct zmeasure *b,
				      const char *file, int line)
{
	if (same_z(a, b))
		return;
	print_error("theta %.17g of %llu values, not %.17g of %llu\n", a->theta,
		    (unsigned long long)a->sampled, b->theta, (unsigned long long)b->sampled);
	_fail(file, line);
}

/* The measure of these values and no others. */
static inline struct zmeasure z_of_values(const float *values, size_t n, uint64_t elements)
{
	void *scratch = malloc(zmeasure_scratch(n) + 1);
	struct zmeasure z;

	must(scratch);
	zmeasure(values, n, elements, scratch, &z);
	free(scratch);
	return z;
}

/* The measure of all values in whole blocks of a type. */
static inline struct zmeasure z_of_blocks(uint32_t type, const void *bytes, uint64_t elements)
{
	float *values = malloc((elements + 1) * sizeof(*values));
	struct zmeasure z;

	must(values);
	dequant_blocks(type, bytes, elements / type_find(type)->block_elements, values);
	z = z_of_values(values, elements, elements);
	free(values);
	return z;
}

/* Of what is in a slot, looking at all of it. */
static inline struct zmeasure z_of_slot(struct model *model, uint32_t tensor)
{
	struct content *content = slots_get(model->slots, tensor);
	const struct organ organ = model_organ(model, tensor, content);
	struct zmeasure z;
	uint64_t elements;
	size_t size;
	char *bytes = read_organ(model, tensor, &size);

	must(shape_elements(organ.ne, &elements));
	z = z_of_blocks(organ.type, bytes + organ.header_size, elements);
	free(bytes);
	content_unref(content);
	return z;
}

/* One that has a θ. */
static inline struct zmeasure z_with(double theta)
{
	return (struct zmeasure){ .status = ZMEASURE_OK,
				  .elements = 1000,
				  .sampled = 1000,
				  .entropy = 0.5,
				  .kurtosis = 2.5,
				  .spacing = 0.75,
				  .signal = sin(theta * M_PI / 180),
				  .theta = theta,
				  .magnitude = 0.25,
				  .has_magnitude = true };
}

/* One that has none. */
static inline struct zmeasure z_nonfinite(void)
{
	return (struct zmeasure){ .status = ZMEASURE_NONFINITE,
				  .nonfinite = 3,
				  .sampled = 3,
				  .low_n = true,
				  .signal = (double)NAN,
				  .theta = (double)NAN };
}

/* ## models */

/* Tensors of a model whose measures differ, all of class organs: 64 floats each. */
static inline void save_many(void **state, const char *name, uint32_t n)
{
	static const uint64_t ne[] = { 64 };
	struct mkgguf *m = mkgguf_new(3);
	char(*names)[32] = calloc(n + 1u, sizeof(*names));
	struct mk_file file;

	must(names);
	mkgguf_kv_string(m, "general.architecture", "llama");
	for (uint32_t i = 0; i < n; i++) {
		snprintf(names[i], sizeof(names[i]), "blk.%u.ffn_up.weight", i);
		mkgguf_tensor(m, names[i], GGML_F32, 1, ne);
	}
	file = mkgguf_finish(m);
	save(state, name, &file);
	mk_file_free(&file);
	free(names);
}

/* A model of one tensor of whole blocks of so many elements, all zeros, as a file of holes: it
 * takes no room on disk. */
static inline void save_hole(void **state, const char *name, uint32_t type, uint64_t elements)
{
	struct mkgguf *m = mkgguf_new(3);
	struct mk_file file;
	uint64_t size;
	const uint64_t ne[GGML_AXES] = { elements, 1, 1, 1 };

	mkgguf_kv_string(m, "general.architecture", "llama");
	mkgguf_tensor(m, "blk.0.ffn_up.weight", type, 1, ne)->size = 0;
	file = mkgguf_finish(m);
	must(type_size(type, ne, &size) == TYPE_SIZE_OK);
	save(state, name, &file);
	must(truncate(in_temp(state, name).text, (off_t)(file.data_at + size)) == 0);
	mk_file_free(&file);
}

static inline struct memo *new_readings(struct model *model)
{
	struct memo *measures = tensor_measures_new(model, SAMPLE_DEFAULT, NULL);

	must(measures);
	return measures;
}

/* The figures of what is in all slots now. */
static inline struct figures *figures_now(struct model *model)
{
	struct snapshot snapshot;
	struct figures *figures;

	must(slots_snapshot(model->slots, &snapshot) == 0);
	figures = figures_new(model, &snapshot);
	snapshot_release(&snapshot);
	must(figures);
	return figures;
}

/* The base's file is not what it was; with its old bytes and times it is again. */
static inline void spoil(void **state, const char *name)
{
	must(utimensat(AT_FDCWD, in_temp(state, name).text, NULL, 0) == 0);
}

static inline void mend(void **state, const char *name)
{
	const struct timespec old[2] = { { 1000000000, 0 }, { 1000000000, 0 } };

	must(utimensat(AT_FDCWD, in_temp(state, name).text, old, 0) == 0);
}

#endif

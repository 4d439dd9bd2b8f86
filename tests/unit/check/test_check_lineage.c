/* SPDX-License-Identifier: MIT */
/* test_check_lineage.c - fs/check/check_lineage.c, on generated models with known weights. */
#include "fs/check/check_lineage.h"
#include "fs/check/check_verdict.h"
#include "fs/storage/backing.h"
#include "fs/util/halt.h"
#include "gguf/reader.h"
#include "tests/unit/small_gguf.h"

#include <math.h>

static const struct halt nothing = { NULL, NULL };

#define BLOCKS 6
#define N      1024 /* values of a matrix */

/* Uniform noise from -1 to 1, a function of seed and i. */
static float noise(uint32_t seed, uint32_t i)
{
	uint64_t x = ((uint64_t)seed << 32 | i) * 0x9e3779b97f4a7c15u;

	x ^= x >> 29;
	x *= 0xbf58476d1ce4e5b9u;
	x ^= x >> 32;
	return (float)(x >> 40) / (float)(1 << 23) - 1;
}

struct opened_model {
	struct mk_file file;
	struct backing *backing;
	struct gguf *gguf;
};

/* Make weights a · noise(own) + b · noise(shared), whose spread grows or shrinks with the block. */
static struct opened_model make(void **state, const char *name, uint32_t seed, float own,
				float shared, bool falling)
{
	static const uint64_t matrix[2] = { 32, 32 }, row[1] = { 32 };
	struct mkgguf *m = mkgguf_new(3);
	char names[2 * BLOCKS][64];
	struct opened_model o;
	struct memory_bytes memory;
	struct source source;

	for (uint32_t b = 0; b < BLOCKS; b++) {
		snprintf(names[2 * b], 64, "blk.%u.attn_q.weight", b);
		snprintf(names[2 * b + 1], 64, "blk.%u.attn_norm.weight", b);
		mkgguf_tensor(m, names[2 * b], GGML_F32, 2, matrix);
		mkgguf_tensor(m, names[2 * b + 1], GGML_F32, 1, row);
	}
	o.file = mkgguf_finish(m);
	memory = (struct memory_bytes){ o.file.bytes, o.file.size };
	source = source_of_memory(&memory);
	o.gguf = gguf_read(&source, NULL);
	must(o.gguf);
	for (uint32_t t = 0; t < 2 * BLOCKS; t++) {
		const uint32_t n = t % 2 ? 32 : N, b = t / 2;
		const float spread = (float)(falling ? BLOCKS - b : b + 1);

		for (uint32_t i = 0; i < n; i++) {
			const float value = t % 2 ? 1 + (float)i
						  : spread * (own * noise(seed * 1000 + t, i) +
							      shared * noise(t, i));

			memcpy(o.file.bytes + o.gguf->tensors[t].offset + 4 * i, &value, 4);
		}
	}
	save(state, name, &o.file);
	o.backing = backing_open(in_temp(state, name).text, NULL);
	must(o.backing);
	return o;
}

static void release(struct opened_model *o)
{
	gguf_free(o->gguf);
	backing_unref(o->backing);
	mk_file_free(&o->file);
}

static struct finding cosines(struct opened_model *host, struct opened_model *donor)
{
	const struct lineage_model a = { host->backing, host->gguf, NULL };
	const struct lineage_model b = { donor->backing, donor->gguf, NULL };
	double likeness;
	struct finding f;

	assert_int_equal(check_lineage_cosines(&a, &b, &nothing, &f, &likeness), 0);
	return f;
}

static void common_descent_raises_the_cosine(void **state)
{
	struct opened_model host = make(state, "host.gguf", 1, 0, 1, false);
	struct opened_model near = make(state, "near.gguf", 2, .3f, 1, false);
	struct opened_model far = make(state, "far.gguf", 3, 2, 1, false);
	struct opened_model stranger = make(state, "stranger.gguf", 4, 1, 0, false);
	struct finding f = cosines(&host, &host);

	assert_int_equal(f.verdict, VERDICT_OK);
	assert_non_null(strstr(f.text, "cosine 1.00 over 6 matrices; 1.00 over 6 norms"));
	assert_non_null(strstr(f.text, "rule of thumb"));
	f = cosines(&host, &near);
	assert_int_equal(f.verdict, VERDICT_OK);
	assert_non_null(strstr(f.text, "same base; cosine 0.96"));
	f = cosines(&host, &far);
	assert_int_equal(f.verdict, VERDICT_RISKY);
	assert_non_null(strstr(f.text, "distant"));
	/* The norms are equal all the same. */
	f = cosines(&host, &stranger);
	assert_int_equal(f.verdict, VERDICT_RISKY);
	assert_non_null(strstr(f.text, "unrelated: expect failure"));
	assert_non_null(strstr(f.text, "1.00 over 6 norms"));
	release(&host);
	release(&near);
	release(&far);
	release(&stranger);
}

static void spreads_that_go_alike_support_one_lineage(void **state)
{
	struct opened_model host = make(state, "host.gguf", 1, 0, 1, false);
	struct opened_model alike = make(state, "alike.gguf", 2, 1, 0, false);
	struct opened_model other = make(state, "other.gguf", 3, 1, 0, true);
	const struct lineage_model a = { host.backing, host.gguf, NULL },
				   b = { alike.backing, alike.gguf, NULL };
	const struct lineage_model c = { other.backing, other.gguf, NULL };
	struct finding f;

	assert_int_equal(check_lineage_spreads(&a, &b, &nothing, &f), 0);
	assert_int_equal(f.verdict, VERDICT_OK);
	assert_non_null(strstr(f.text, "correlation 1.00"));
	assert_int_equal(check_lineage_spreads(&a, &c, &nothing, &f), 0);
	assert_int_equal(f.verdict, VERDICT_RISKY);
	assert_non_null(strstr(f.text, "correlation -"));
	release(&host);
	release(&alike);
	release(&other);
}

static void the_root_of_the_mean_square_is_exact(void **state)
{
	struct opened_model host = make(state, "host.gguf", 1, 0, 1, false);
	struct weights weights;
	double rms, expected = 0;

	for (unsigned i = 1; i <= 32; i++)
		expected += i * i / 32.0;
	assert_true(check_lineage_weights(host.backing, &host.gguf->tensors[1], &weights));
	assert_int_equal(check_lineage_rms(&weights, &nothing, &rms), 0);
	assert_true(fabs(rms - sqrt(expected)) < 1e-6);
	release(&host);
}

static void strangers_in_shape_cannot_be_compared(void **state)
{
	struct opened_model host = make(state, "host.gguf", 1, 0, 1, false);
	struct gguf none = { .n_tensors = 0, .names = host.gguf->names };
	const struct lineage_model a = { host.backing, &none, NULL },
				   b = { host.backing, host.gguf, NULL };
	double likeness;
	struct finding f;

	assert_int_equal(check_lineage_cosines(&a, &b, &nothing, &f, &likeness), 0);
	assert_int_equal(f.verdict, VERDICT_UNKNOWN);
	assert_true(isnan(likeness));
	assert_int_equal(check_lineage_spreads(&a, &b, &nothing, &f), 0);
	assert_int_equal(f.verdict, VERDICT_OK);
	assert_non_null(strstr(f.text, "does not apply"));
	release(&host);
}

static void unreadable_donor_is_unknown(void **state)
{
	struct opened_model host = make(state, "host.gguf", 1, 0, 1, false);
	struct opened_model donor = make(state, "donor.gguf", 2, 0, 1, false);
	struct finding f;

	must(truncate(in_temp(state, "donor.gguf").text, 2000) == 0);
	f = cosines(&host, &donor);
	assert_int_equal(f.verdict, VERDICT_UNKNOWN);
	assert_non_null(strstr(f.text, "12 of 12 tensors cannot be read"));
	release(&host);
	release(&donor);
}

static void interrupt_ends_check(void **state)
{
	struct opened_model host = make(state, "host.gguf", 1, 0, 1, false);
	const struct lineage_model a = { host.backing, host.gguf, NULL };
	const atomic_bool yes = true;
	const struct halt halt = { NULL, &yes };
	double likeness;
	struct finding f;

	assert_int_equal(check_lineage_cosines(&a, &a, &halt, &f, &likeness), -EINTR);
	assert_int_equal(check_lineage_spreads(&a, &a, &halt, &f), -EINTR);
	release(&host);
}

UNIT_MAIN(temp_setup, temp_teardown)

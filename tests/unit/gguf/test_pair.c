/* SPDX-License-Identifier: MIT */
/* test_pair.c - gguf/pair.c: names and shapes of low-rank pairs. */
#include "gguf/organ.h"
#include "gguf/pair.h"
#include "tests/unit/unit.h"

#define EMBED "token_embd.weight"
#define QUERY "blk.0.attn_q.weight"

static struct organ organ_of(const char *name, uint32_t type, uint64_t ne0, uint64_t ne1,
			     uint64_t ne2)
{
	return (struct organ){ .name = name,
			       .name_length = (uint32_t)strlen(name),
			       .type = type,
			       .dims = ne2 > 1 ? 3 : 2,
			       .ne = { ne0, ne1, ne2, 1 } };
}

static int fits(const struct organ *target, const struct organ *a, const struct organ *b,
		const char *why)
{
	struct error err = { 0 };
	const int rc = pair_fits(target, a, b, &err);

	if (rc < 0)
		assert_refused(rc, &err, EINVAL, ERROR_NO_OFFSET);
	if (rc < 0 && !strstr(err.text, why))
		fail_msg("says: %s", err.text);
	return rc;
}

static void names_tell_the_half_and_the_tensor(void **state)
{
	static const struct {
		const char *name;
		enum pair_half half;
		size_t target;
	} names[] = { { QUERY ".lora_a", PAIR_A, sizeof(QUERY) - 1 },
		      { QUERY ".lora_b", PAIR_B, sizeof(QUERY) - 1 },
		      { "x.lora_a", PAIR_A, 1 },
		      { ".lora_a", PAIR_NONE, 0 },
		      { "lora_a", PAIR_NONE, 0 },
		      { QUERY ".lora_A", PAIR_NONE, 0 },
		      { QUERY ".lora_c", PAIR_NONE, 0 },
		      { "direction.1", PAIR_NONE, 0 },
		      { "", PAIR_NONE, 0 } };

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(names); i++) {
		size_t target = 99;

		assert_int_equal(pair_half(names[i].name, strlen(names[i].name), &target),
				 names[i].half);
		assert_int_equal(target, names[i].target);
	}
	assert_true(pair_is_flipped(EMBED, sizeof(EMBED) - 1));
	assert_true(pair_is_flipped("x." EMBED, sizeof("x." EMBED) - 1));
	assert_false(pair_is_flipped(QUERY, sizeof(QUERY) - 1));
	assert_false(pair_is_flipped("", 0));
}

static void halves_that_belong_together_fit(void **state)
{
	const struct organ query = organ_of(QUERY, GGML_Q4_K, 256, 64, 1);
	const struct organ a = organ_of("a", GGML_F32, 256, 8, 1);
	const struct organ b = organ_of("b", GGML_F16, 8, 64, 1);
	const struct organ experts = organ_of("blk.0.ffn_up_exps.weight", GGML_F16, 32, 16, 4);
	const struct organ ea = organ_of("a", GGML_F32, 32, 2, 4);
	const struct organ eb = organ_of("b", GGML_F32, 2, 16, 4);
	const struct organ embed = organ_of(EMBED, GGML_F32, 64, 500, 1);
	const struct organ fa = organ_of("a", GGML_F32, 3, 500, 1);
	const struct organ fb = organ_of("b", GGML_F32, 3, 64, 1);

	(void)state;
	assert_int_equal(fits(&query, &a, &b, ""), 0);
	assert_int_equal(fits(&query, &a, NULL, ""), 0);
	assert_int_equal(fits(&query, NULL, &b, ""), 0);
	assert_int_equal(fits(&query, NULL, NULL, ""), 0);
	assert_int_equal(fits(&experts, &ea, &eb, ""), 0);
	assert_int_equal(fits(&embed, &fa, &fb, ""), 0);
	assert_int_equal(pair_rank(&a, false), 8);
	assert_int_equal(pair_rank(&fa, true), 3);
}

static void unfitting_pair_is_refused_with_the_reason(void **state)
{
	const struct organ query = organ_of(QUERY, GGML_F16, 256, 64, 1);
	const struct organ a = organ_of("a", GGML_F32, 256, 8, 1);
	const struct organ b = organ_of("b", GGML_F32, 8, 64, 1);
	const struct organ narrow = organ_of("a", GGML_F32, 128, 8, 1);
	const struct organ low = organ_of("b", GGML_F32, 8, 63, 1);
	const struct organ other = organ_of("b", GGML_F32, 4, 64, 1);
	const struct organ stack = organ_of("a", GGML_F32, 256, 8, 2);
	const struct organ none = organ_of("a", GGML_F32, 256, 0, 1);
	const struct organ huge = organ_of("a", GGML_F32, 256, (uint64_t)1 << 19, 1);
	const struct organ numbers = organ_of("a", GGML_I32, 256, 8, 1);
	const struct organ odd = organ_of("a", 1000, 256, 8, 1);
	const struct organ ids = organ_of(QUERY, GGML_I8, 256, 64, 1);
	const struct organ empty = organ_of(QUERY, GGML_F32, 0, 64, 1);
	const struct organ nothing = organ_of("a", GGML_F32, 0, 8, 1);

	(void)state;
	assert_int_equal(fits(&query, &narrow, &b, "lora_a is 128x8"), -EINVAL);
	assert_int_equal(fits(&query, &a, &low, "lora_b is 8x63"), -EINVAL);
	assert_int_equal(fits(&query, &a, &other, "lora_a has rank 8 and lora_b 4"), -EINVAL);
	assert_int_equal(fits(&query, &stack, &b, "lora_a is 256x8x2"), -EINVAL);
	assert_int_equal(fits(&query, &none, NULL, "rank 0"), -EINVAL);
	assert_int_equal(fits(&query, &huge, NULL, "rank 524288"), -EINVAL);
	assert_int_equal(fits(&query, &numbers, &b, "lora_a is of type I32"), -EINVAL);
	assert_int_equal(fits(&query, &odd, &b, "type-1000"), -EINVAL);
	assert_int_equal(fits(&ids, &a, &b, "to be changed is of type I8"), -EINVAL);
	assert_int_equal(fits(&empty, &nothing, NULL, "rows of 0"), -EINVAL);
}

static void a_pair_of_any_rank_fits_its_organ(void **state)
{
	const struct organ targets[] = { organ_of(QUERY, GGML_F16, 256, 64, 1),
					 organ_of("token_embd.weight", GGML_Q4_0, 64, 512, 1),
					 organ_of("blk.0.ffn_up_exps.weight", GGML_F32, 32, 8, 5) };
	const struct organ huge = organ_of(QUERY, GGML_F16, (uint64_t)1 << 40, 64, 1);
	struct error err = { 0 };
	struct organ a, b;

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(targets); i++) {
		assert_true(pair_of_rank(&targets[i], 7, &a, &b));
		assert_int_equal(pair_fits(&targets[i], &a, &b, &err), 0);
		assert_int_equal(b.ne[0], 7);
		assert_int_equal(a.data_size, 4 * a.ne[0] * a.ne[1] * a.ne[2]);
	}
	assert_false(pair_of_rank(&huge, (uint64_t)1 << 30, &a, &b));
}

UNIT_MAIN(NULL, NULL)

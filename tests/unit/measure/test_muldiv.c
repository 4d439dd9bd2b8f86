/* SPDX-License-Identifier: MIT */
/* test_muldiv.c - measure/muldiv.c: against Python's integer quotients, and against the inverse
 * division. */
#include "measure/muldiv.h"
#include "tests/unit/unit.h"

static const struct {
	uint64_t a, b, divisor, quotient;
} known[] = {
	{ 0x0u, 0x0u, 0x1u, 0x0u },
	{ 0x0u, 0xffffffffffffffffull, 0x1u, 0x0u },
	{ 0xffffffffffffffffull, 0x0u, 0xffffffffffffffffull, 0x0u },
	{ 0x1u, 0x1u, 0x1u, 0x1u },
	{ 0x1u, 0x1u, 0x2u, 0x0u },
	{ 0xffffffffffffffffull, 0x1u, 0x1u, 0xffffffffffffffffull },
	{ 0x1u, 0xffffffffffffffffull, 0x1u, 0xffffffffffffffffull },
	{ 0xffffffffffffffffull, 0xffffffffffffffffull, 0xffffffffffffffffull,
	  0xffffffffffffffffull },
	{ 0xfffffffffffffffeull, 0xffffffffffffffffull, 0xffffffffffffffffull,
	  0xfffffffffffffffeull },
	{ 0xffffffffffffffffull, 0xfffffffffffffffeull, 0xffffffffffffffffull,
	  0xfffffffffffffffeull },
	{ 0xfffffffffffffffeull, 0xfffffffffffffffeull, 0xffffffffffffffffull,
	  0xfffffffffffffffdull },
	{ 0x7fffffffffffffffull, 0x2u, 0xffffffffffffffffull, 0x0u },
	{ 0x8000000000000000ull, 0x2u, 0xffffffffffffffffull, 0x1u },
	{ 0x8000000000000000ull, 0xffffffffffffffffull, 0x8000000000000000ull,
	  0xffffffffffffffffull },
	{ 0x8000000000000000ull, 0xffffffffffffffffull, 0x8000000000000001ull,
	  0xfffffffffffffffdull },
	{ 0x100000000ull, 0x100000000ull, 0x8000000000000000ull, 0x2u },
	{ 0xffffffffu, 0x100000001ull, 0x3u, 0x5555555555555555ull },
	{ 0x100000000ull, 0xffffffffu, 0x1u, 0xffffffff00000000ull },
	{ 0xffffffffu, 0xffffffffu, 0x1u, 0xfffffffe00000001ull },
	{ 0xffffffffffffffffull, 0x100000000ull, 0x100000001ull, 0xffffffff00000000ull },
	{ 0xffffffffffffffffull, 0x8000000000000000ull, 0xfffffffffffffffeull,
	  0x8000000000000000ull },
	{ 0xde0b6b3a7640000ull, 0x8ac7230489e80000ull, 0x8ac7230489e7ffffull,
	  0xde0b6b3a7640000ull },
	{ 0x3u, 0x5555555555555555ull, 0x1u, 0xffffffffffffffffull },
	{ 0x6513270e269e0d37ull, 0xc5c7fd0a6a3a450ull, 0xf2a74de452e6b439ull,
	  0x52623aecc6835f4ull },
	{ 0x1818e811892f902bull, 0x9531985d5d9dc9f8ull, 0xd23f0824128b2f33ull,
	  0x11198b66058f0116ull },
	{ 0x36f675cc81e74ef5ull, 0x1600a35a099950d8ull, 0xe8e25d940ed90475ull,
	  0x5315a2ea8ecfc71ull },
	{ 0x1ece0b9211e20b8full, 0x8d116ece1738f7d9ull, 0x6b0d549b6f03675bull,
	  0x2897da58823b8dfeull },
	{ 0x90c192cd3ac94afull, 0xf28c105d1fb17c23ull, 0xf21ddb66cad4a27ull,
	  0x910376b443ae9510ull },
	{ 0x953f48f1a09f76b5ull, 0xfd630f1f29d0da9ull, 0xa170b33839263059ull,
	  0xea3fdf4f9f6935cull },
	{ 0xcb1e29c658cda14ull, 0x3898d190f9ebdaccull, 0x95e60af593bd04cfull,
	  0x4cb0da7500add7full },
	{ 0x2217beaddbc496cbull, 0x6b4cb2424a23d596ull, 0x8e81973e0becd7b1ull,
	  0x19ab870223551ce3ull },
};

static void quotients_are_those_of_integers_without_a_limit(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(known); i++) {
		assert_true(muldiv(known[i].a, known[i].b, known[i].divisor) == known[i].quotient);
		assert_true(muldiv(known[i].b, known[i].a, known[i].divisor) == known[i].quotient);
	}
}

/* A random number of few bits, of many, or around the middle. */
static uint64_t draw(uint64_t *state)
{
	*state = *state * 6364136223846793005u + 1442695040888963407u;
	return *state >> (*state >> 8) % 64;
}

static void small_products_are_divided_as_by_the_machine(void **state)
{
	uint64_t seed = 1;

	(void)state;
	for (unsigned i = 0; i < 100000; i++) {
		const uint64_t a = draw(&seed) & UINT32_MAX, b = draw(&seed) & UINT32_MAX;
		const uint64_t divisor = draw(&seed) | 1;

		assert_true(muldiv(a, b, divisor) == a * b / divisor);
	}
}

static void a_product_divided_by_one_factor_is_the_other(void **state)
{
	uint64_t seed = 2;

	(void)state;
	for (unsigned i = 0; i < 100000; i++) {
		const uint64_t a = draw(&seed), b = draw(&seed) | 1;

		assert_true(muldiv(a, b, b) == a);
	}
}

UNIT_MAIN(NULL, NULL)

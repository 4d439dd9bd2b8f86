/* SPDX-License-Identifier: MIT */
/* muldiv.c - see muldiv.h. */
#include "muldiv.h"

/* A number of 128 bits. */
struct wide {
	uint64_t high, low;
};

/* Long multiplication with digits of 32 bits. No sum here exceeds 64 bits. */
static struct wide multiply(uint64_t a, uint64_t b)
{
	const uint64_t mask = UINT32_MAX;
	const uint64_t low = (a & mask) * (b & mask);
	const uint64_t first = (a >> 32) * (b & mask) + (low >> 32);
	const uint64_t second = (a & mask) * (b >> 32) + (first & mask);

	return (struct wide){
		.high = (a >> 32) * (b >> 32) + (first >> 32) + (second >> 32),
		.low = second << 32 | (low & mask),
	};
}

uint64_t muldiv(uint64_t a, uint64_t b, uint64_t divisor)
{
	struct wide rest = multiply(a, b);

	/* Long division bit by bit: the product moves out of low, the quotient moves in. Since the
	 * quotient fits, high is less than the divisor before and after every step. */
	for (unsigned bit = 0; bit < 64; bit++) {
		const uint64_t carry = rest.high >> 63;

		rest.high = rest.high << 1 | rest.low >> 63;
		rest.low <<= 1;
		if (carry || rest.high >= divisor) {
			rest.high -= divisor;
			rest.low |= 1;
		}
	}
	return rest.low;
}

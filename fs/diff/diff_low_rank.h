/* SPDX-License-Identifier: MIT */
/* diff_low_rank.h - which pairs of a diff a low-rank adapter can change, as far as it is known
 * without reading. */
#ifndef FS_DIFF_DIFF_LOW_RANK_H
#define FS_DIFF_DIFF_LOW_RANK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct diff;
struct diff_pair;

/* The highest rank of an adapter. */
#define DIFF_RANK_MOST 256u

enum diff_low_rank {
	DIFF_LOW_RANK_OK,
	DIFF_LOW_RANK_SAME,   /* nothing is to be changed */
	DIFF_LOW_RANK_VECTOR, /* of one row: norms, biases */
	/* token_embd of a model that has no output of its own: llama.cpp multiplies by the pair as
	 * if it did not stand the other way round, and ends (llm_graph_context::build_lora_mm()) */
	DIFF_LOW_RANK_TIED,
	DIFF_LOW_RANK_LEFT_OUT,	 /* llama.cpp or pair_fits() take no such pair: the name is too
				 * long, or there twice, or there are four axes; or the search
				 * would take too much memory */
	DIFF_LOW_RANK_UNDECODED, /* the values of one of the types are not known */
	DIFF_LOW_RANK_SHORT,	 /* one of them has fewer bytes than its type needs */
	DIFF_LOW_RANK_MISSING,	 /* one of them is in a file that is gone */
	DIFF_LOW_RANK_SHAPE,
	DIFF_LOW_RANK_ONLY_HERE,
	DIFF_LOW_RANK_ONLY_THERE,
	DIFF_LOW_RANK_STATUSES,
};

/* "ok", "vector", ...; the longest has that many bytes. */
const char *diff_low_rank_word(enum diff_low_rank status);
#define DIFF_LOW_RANK_WIDTH 10

/* Of pair i. */
enum diff_low_rank diff_low_rank(const struct diff *diff, size_t i);

/* The same of values that may be equal: never DIFF_LOW_RANK_SAME. */
enum diff_low_rank diff_low_rank_of_any(const struct diff *diff, size_t i);

/* Is the difference of its values known, though no pair may change it? */
static inline bool diff_low_rank_is_measured(enum diff_low_rank status)
{
	return status <= DIFF_LOW_RANK_LEFT_OUT;
}

/* Of a pair that is OK: the rank that it has in an adapter of that rank, and how many matrices it
 * is a stack of. */
uint32_t diff_low_rank_rank(const struct diff_pair *pair, uint32_t rank);
uint64_t diff_low_rank_slices(const struct diff_pair *pair);

#endif

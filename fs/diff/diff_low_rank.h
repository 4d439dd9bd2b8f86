/* SPDX-License-Identifier: MIT */
/* diff_low_rank.h - the pairs of a diff that a low-rank adapter can change, known without a
 * read. */
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
	DIFF_LOW_RANK_SAME,   /* no difference */
	DIFF_LOW_RANK_VECTOR, /* one row: norms, biases */
	/* token_embd of a model that has no output of its own: llama.cpp multiplies by the pair as
	 * if it did not stand the other way round, and ends (llm_graph_context::build_lora_mm()) */
	DIFF_LOW_RANK_TIED,
	/* llama.cpp or pair_fits() refuse such a pair: the name is too long or not unique, there
	 * are four axes, or the computation would take too much memory */
	DIFF_LOW_RANK_LEFT_OUT,
	DIFF_LOW_RANK_UNDECODED, /* a type cannot be decoded */
	DIFF_LOW_RANK_SHORT,	 /* one tensor has fewer bytes than its type needs */
	DIFF_LOW_RANK_MISSING,	 /* the file of one tensor is gone */
	DIFF_LOW_RANK_SHAPE,
	DIFF_LOW_RANK_ONLY_HERE,
	DIFF_LOW_RANK_ONLY_THERE,
	DIFF_LOW_RANK_STATUSES,
};

/* "ok", "vector", ...; DIFF_LOW_RANK_WIDTH bytes at most. */
const char *diff_low_rank_word(enum diff_low_rank status);
#define DIFF_LOW_RANK_WIDTH 10

/* Status of pair i. */
enum diff_low_rank diff_low_rank(const struct diff *diff, size_t i);

/* The same as if the values differed: never DIFF_LOW_RANK_SAME. */
enum diff_low_rank diff_low_rank_of_any(const struct diff *diff, size_t i);

/* Whether the difference of the values can be computed, even if no pair may change the tensor. */
static inline bool diff_low_rank_is_measured(enum diff_low_rank status)
{
	return status <= DIFF_LOW_RANK_LEFT_OUT;
}

/* Rank of a pair that is OK in an adapter of that rank, and the number of matrices in its stack. */
uint32_t diff_low_rank_rank(const struct diff_pair *pair, uint32_t rank);
uint64_t diff_low_rank_slices(const struct diff_pair *pair);

#endif

/* SPDX-License-Identifier: MIT */
/* diff_low_rank.c - see diff_low_rank.h. */
#include "fs/diff/diff_low_rank.h"
#include "fs/diff/diff.h"
#include "fs/diff/diff_side.h"
#include "fs/tensor/sampling.h"
#include "gguf/adapter.h"
#include "gguf/dequant.h"
#include "gguf/pair.h"
#include "gguf/types.h"

#include <string.h>

/* A column takes measure/low_rank.h as much memory as this many rows. SIDES_MOST limits both
 * together to four times the largest known vocabulary: 1.2 GB at rank 256, plus the result. */
#define COLUMN_ROWS 4u
#define SIDES_MOST  ((uint64_t)1 << 20)

const char *diff_low_rank_word(enum diff_low_rank status)
{
	static const char *const words[DIFF_LOW_RANK_STATUSES] = {
		[DIFF_LOW_RANK_OK] = "ok",
		[DIFF_LOW_RANK_SAME] = "same",
		[DIFF_LOW_RANK_VECTOR] = "vector",
		[DIFF_LOW_RANK_TIED] = "tied",
		[DIFF_LOW_RANK_LEFT_OUT] = "left-out",
		[DIFF_LOW_RANK_UNDECODED] = "undecoded",
		[DIFF_LOW_RANK_SHORT] = "short",
		[DIFF_LOW_RANK_MISSING] = "missing",
		[DIFF_LOW_RANK_SHAPE] = "shape",
		[DIFF_LOW_RANK_ONLY_HERE] = "only-here",
		[DIFF_LOW_RANK_ONLY_THERE] = "only-there",
	};

	return words[status];
}

static bool is_tied(const struct diff *diff, const struct organ *organ)
{
	static const char output[] = "output.weight";

	return pair_is_flipped(organ->name, organ->name_length) &&
	       !diff_side_tensor(diff->here, output, strlen(output));
}

/* Whether llama.cpp and this program accept such a pair. */
static bool fits(const struct diff *diff, const struct diff_pair *pair)
{
	const struct organ *organ = &pair->here->at.organ;
	struct organ a, b;

	return organ->name_length <= ADAPTER_TARGET_MOST && organ->ne[3] == 1 &&
	       organ->ne[2] <= UINT32_MAX && organ->ne[0] <= SIDES_MOST / COLUMN_ROWS &&
	       organ->ne[1] <= SIDES_MOST - COLUMN_ROWS * organ->ne[0] &&
	       diff_side_tensor(diff->here, organ->name, organ->name_length) == pair->here &&
	       pair_of_rank(organ, diff_low_rank_rank(pair, DIFF_RANK_MOST), &a, &b) &&
	       pair_fits(organ, &a, &b, NULL) == 0;
}

static bool is_there(const struct organ_location *at)
{
	struct sampling sampling;

	return sampling_locate(&sampling, at);
}

static enum diff_low_rank status_of_both(const struct diff *diff, const struct diff_pair *pair)
{
	const struct organ *here = &pair->here->at.organ, *there = &pair->there->at.organ;
	uint64_t elements;

	if (!is_there(&pair->here->at) || !is_there(&pair->there->at))
		return DIFF_LOW_RANK_MISSING;
	if (type_is_short(here->type) || type_is_short(there->type))
		return DIFF_LOW_RANK_SHORT;
	if (!dequant_supported(here->type) || !dequant_supported(there->type))
		return DIFF_LOW_RANK_UNDECODED;
	if (!shape_elements(here->ne, &elements) || elements == here->ne[0])
		return DIFF_LOW_RANK_VECTOR;
	if (elements == 0 || !fits(diff, pair))
		return DIFF_LOW_RANK_LEFT_OUT;
	return is_tied(diff, here) ? DIFF_LOW_RANK_TIED : DIFF_LOW_RANK_OK;
}

enum diff_low_rank diff_low_rank_of_any(const struct diff *diff, size_t i)
{
	const struct diff_pair *pair = &diff->pairs[i];

	if (!pair->here)
		return DIFF_LOW_RANK_ONLY_THERE;
	if (!pair->there)
		return DIFF_LOW_RANK_ONLY_HERE;
	return diff_pair_is_comparable(pair) ? status_of_both(diff, pair) : DIFF_LOW_RANK_SHAPE;
}

enum diff_low_rank diff_low_rank(const struct diff *diff, size_t i)
{
	return diff->pairs[i].same ? DIFF_LOW_RANK_SAME : diff_low_rank_of_any(diff, i);
}

uint32_t diff_low_rank_rank(const struct diff_pair *pair, uint32_t rank)
{
	const uint64_t *ne = pair->here->at.organ.ne;

	for (int axis = 0; axis < 2; axis++)
		if (ne[axis] < rank)
			rank = (uint32_t)ne[axis];
	return rank;
}

uint64_t diff_low_rank_slices(const struct diff_pair *pair)
{
	return pair->here->at.organ.ne[2];
}

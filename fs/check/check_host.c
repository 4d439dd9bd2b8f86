/* SPDX-License-Identifier: MIT */
/* check_host.c - see check_host.h. */
#include "fs/check/check_host.h"
#include "fs/check/check_blocks.h"
#include "fs/check/check_groups.h"
#include "fs/check/check_verdict.h"
#include "fs/metadata/metadata.h"
#include "fs/model/model.h"
#include "fs/model/organ_file.h"
#include "fs/model/slots.h"
#include "fs/tensor/expert_slice.h"
#include "fs/util/plural.h"
#include "gguf/file_type.h"
#include "gguf/reader.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static bool ends_with(const struct kv *kv, const char *ending)
{
	const size_t n = strlen(ending);

	return kv->key_length >= n && memcmp(kv->key + kv->key_length - n, ending, n) == 0;
}

static bool find_count(const struct gguf *gguf, const char *ending, uint64_t *count)
{
	for (uint32_t i = 0; i < gguf->n_kv; i++)
		if (ends_with(&gguf->kv[i], ending) && kv_unsigned(&gguf->kv[i], count))
			return true;
	return false;
}

/* Mark in gaps the missing numbers of blocks of each kind. Returns the number of blocks, counted to
 * the highest number, of kind 0 ("blk.") if there are any; kinds gets a bit for each kind. */
static uint32_t find_gaps(const struct check_block *blocks, bool *gaps, uint32_t *kinds)
{
	uint32_t ends[ANATOMY_BLOCK_KINDS] = { 0 }, n = 0;

	*kinds = 0;
	for (uint32_t b = 0; b < BLOCKS_MAX; b++) {
		if (!blocks[b].kinds)
			continue;
		n = b + 1;
		*kinds |= blocks[b].kinds;
		for (unsigned k = 0; k < ANATOMY_BLOCK_KINDS; k++)
			if (blocks[b].kinds >> k & 1)
				ends[k] = n;
	}
	for (uint32_t b = 0; b < n; b++)
		for (unsigned k = 0; k < ANATOMY_BLOCK_KINDS; k++)
			gaps[b] |= b < ends[k] && !(blocks[b].kinds >> k & 1);
	return ends[0] ? ends[0] : n;
}

static void judge_blocks(const struct gguf *header, uint32_t n, uint32_t kinds, const char *missing,
			 struct finding *finding)
{
	uint64_t count;

	if (missing[0])
		finding_set(finding, VERDICT_IMPOSSIBLE,
			    "they have to run from 0 without a gap, and these are missing: %s",
			    missing);
	else if (!(kinds & 1u) && !find_count(header, ".block_count", &count))
		finding_set(finding, VERDICT_OK,
			    "%" PRIu32 " from 0 on; diffusion models have no block_count", n);
	else if (!find_count(header, ".block_count", &count))
		finding_set(finding, VERDICT_UNKNOWN, "%" PRIu32 " from 0 on; no block_count", n);
	else if (n == count)
		finding_set(finding, VERDICT_OK, "%" PRIu32 " from 0 on, as block_count says", n);
	else
		finding_set(finding, VERDICT_IMPOSSIBLE,
			    "%" PRIu32 " from 0 on, but block_count says %" PRIu64, n, count);
}

int check_host_blocks(const struct check_groups *groups, const struct gguf *header,
		      struct finding *finding)
{
	struct check_block *blocks = check_blocks_find(groups);
	bool *gaps = calloc(BLOCKS_MAX, sizeof(*gaps));
	const int rc = blocks && gaps ? 0 : -ENOMEM;
	char missing[96];
	uint32_t n = 0, kinds;

	if (rc == 0)
		n = find_gaps(blocks, gaps, &kinds);
	if (n)
		judge_blocks(header, n, kinds,
			     check_groups_numbers(gaps, n, missing, sizeof(missing)), finding);
	else if (rc == 0)
		finding_set(finding, VERDICT_UNKNOWN, "no blocks");
	free(blocks);
	free(gaps);
	return rc;
}

/* Find empty slots in existing blocks, and count unreadable contents. Returns the number of
 * slots. */
static uint32_t find_holes(const struct check_groups *groups, const struct check_block *blocks,
			   uint32_t *holes, uint32_t *broken)
{
	uint32_t n = 0;

	*broken = 0;
	for (uint32_t i = 0; i < groups->n_slots; i++) {
		const struct content *content = groups->content[i];

		*broken += content && content->broken;
		if (!content_is_whiteout(content) || i >= groups->model->gguf->n_tensors)
			continue;
		if (check_blocks_of(groups, i) < 0 || check_blocks_is_there(groups, blocks, i))
			holes[n++] = i;
	}
	return n;
}

int check_host_complete(const struct check_groups *groups, const struct gguf *header,
			struct finding *finding)
{
	struct check_block *blocks = check_blocks_find(groups);
	uint32_t *holes = calloc(groups->n_slots + 1u, sizeof(*holes));
	uint32_t n, broken;
	char text[96];
	int rc = -ENOMEM;

	(void)header;
	if (!blocks || !holes)
		goto out;
	n = find_holes(groups, blocks, holes, &broken);
	finding_set(finding, VERDICT_OK, "%s", "");
	if (n)
		finding_add(finding, VERDICT_IMPOSSIBLE,
			    "removed, while their blocks are there: %s",
			    check_groups_slots(groups, holes, n, text, sizeof(text)));
	if (broken)
		finding_add(finding, VERDICT_IMPOSSIBLE,
			    "%" PRIu32 " graft%s cannot be read (see .log)", broken,
			    plural(broken));
	rc = check_blocks_added(groups, blocks, finding);
	if (!finding->text[0])
		finding_set(finding, VERDICT_OK, "no block lacks a tensor of the base");
out:
	free(blocks);
	free(holes);
	return rc;
}

/* Whether llama.cpp reads the array with an entry for each block. */
static bool is_a_block(const struct kv *kv)
{
	return kv->type == KV_ARRAY &&
	       (ends_with(kv, ".attention.head_count") ||
		ends_with(kv, ".attention.head_count_kv") || ends_with(kv, ".feed_forward_length"));
}

int check_host_arrays(const struct check_groups *groups, const struct gguf *header,
		      struct finding *finding)
{
	uint32_t arrays = 0, wrong = 0, first = 0;
	uint64_t count = 0;
	const bool counted = find_count(header, ".block_count", &count);

	(void)groups;
	for (uint32_t i = 0; i < header->n_kv; i++) {
		if (!is_a_block(&header->kv[i]))
			continue;
		arrays++;
		if (header->kv[i].count != count && wrong++ == 0)
			first = i;
	}
	if (arrays && !counted)
		finding_set(finding, VERDICT_UNKNOWN, "no block_count");
	else if (wrong)
		finding_set(finding, VERDICT_IMPOSSIBLE,
			    "%.60s has %" PRIu64 " entries, block_count says %" PRIu64,
			    header->kv[first].key, header->kv[first].count, count);
	else if (arrays)
		finding_set(finding, VERDICT_OK, "%" PRIu32 " with an entry for each block",
			    arrays);
	else
		finding_set(finding, VERDICT_OK, "none has an entry for each block");
	return 0;
}

static bool has_tensor(const struct check_groups *groups, const char *name, bool in_base)
{
	const uint32_t n = in_base ? groups->model->gguf->n_tensors : groups->n_slots;

	for (uint32_t i = 0; i < n; i++) {
		const struct organ_place *place = &groups->model->places[i];

		if ((in_base || !content_is_whiteout(groups->content[i])) &&
		    place->tensor_length == strlen(name) &&
		    memcmp(place->tensor, name, strlen(name)) == 0)
			return true;
	}
	return false;
}

bool check_host_output_any(const struct check_groups *groups)
{
	return has_tensor(groups, "token_embd.weight", true) ||
	       has_tensor(groups, "output.weight", true) ||
	       has_tensor(groups, "output.weight", false);
}

int check_host_output(const struct check_groups *groups, const struct gguf *header,
		      struct finding *finding)
{
	const bool before = has_tensor(groups, "output.weight", true);
	const bool now = has_tensor(groups, "output.weight", false);

	(void)header;
	if (before == now)
		finding_set(finding, VERDICT_OK,
			    now ? "a head of its own" : "tied: the token embedding is the head");
	else if (now)
		finding_set(finding, VERDICT_RISKY,
			    "an output head was added; before, the token embedding was the head");
	else
		finding_set(
			finding, VERDICT_RISKY,
			"the output head was removed: the token embedding replaces it, or nothing");
	return 0;
}

int check_host_types(const struct check_groups *groups, const struct gguf *header,
		     struct finding *finding)
{
	const struct model_types *types = &groups->types;
	const struct kv *kv = gguf_find(groups->model->gguf, FILE_TYPE_KEY);
	char scratch[TYPE_NAME_MAX], before[TYPE_NAME_MAX];

	(void)header;
	if (kv && !types->agree && types->most != types->of_base && types->most != UINT32_MAX &&
	    !metadata_edits_find(groups->edits, (uint32_t)(kv - groups->model->gguf->kv)))
		finding_set(
			finding, VERDICT_RISKY,
			"the most frequent type of matrices is %s now, not %s, and " FILE_TYPE_KEY
			" still has the base's value",
			type_name(types->most, scratch), type_name(types->of_base, before));
	return 0;
}

int check_host_adapters(const struct check_groups *groups, const struct gguf *header,
			struct finding *finding)
{
	const struct adapted *adapted = &groups->adapted;

	(void)header;
	finding_set(finding, VERDICT_OK, "%" PRIu32 " in force, on %" PRIu32 " tensor%s",
		    adapted->adapters - adapted->broken, adapted->touched,
		    plural(adapted->touched));
	if (adapted->halves)
		finding_add(finding, VERDICT_RISKY, "%" PRIu32 " %s nothing without the other half",
			    adapted->halves,
			    adapted->halves == 1 ? "half of a pair changes"
						 : "halves of pairs change");
	if (adapted->broken)
		finding_add(finding, VERDICT_IMPOSSIBLE, "%" PRIu32 " cannot be read (see .log)",
			    adapted->broken);
	return 0;
}

/* Number of experts in the slot; 0: not by expert, or empty. */
static uint32_t experts_of(const struct check_groups *groups, uint32_t slot)
{
	return organ_file_experts(groups->model, slot, groups->content[slot]);
}

bool check_host_experts_any(const struct check_groups *groups)
{
	for (uint32_t i = 0; i < groups->n_slots; i++)
		if (experts_of(groups, i))
			return true;
	return false;
}

bool check_host_experts_shape(const struct organ *organ, const struct gguf_tensor *slot)
{
	const struct organ base = organ_of_tensor(slot);

	return organ->dims == base.dims && expert_slice_count(&base) && organ->dims &&
	       memcmp(organ->ne, base.ne, (organ->dims - 1) * sizeof(base.ne[0])) == 0;
}

int check_host_experts(const struct check_groups *groups, const struct gguf *header,
		       struct finding *finding)
{
	uint32_t tensors = 0, wrong = 0, first = 0;
	uint64_t count;
	char path[ORGAN_PATH_MAX];

	if (!find_count(header, ".expert_count", &count)) {
		finding_set(finding, VERDICT_UNKNOWN, "no expert_count");
		return 0;
	}
	for (uint32_t i = 0; i < groups->n_slots; i++) {
		const uint32_t has = experts_of(groups, i);

		if (has && has != count && wrong++ == 0)
			first = i;
		tensors += has != 0;
	}
	if (wrong)
		finding_set(finding, VERDICT_IMPOSSIBLE,
			    "%" PRIu32 " of %" PRIu32 " tensors: %s has %" PRIu32
			    ", expert_count says %" PRIu64,
			    wrong, tensors, model_organ_path(groups->model, first, path),
			    experts_of(groups, first), count);
	else
		finding_set(finding, VERDICT_OK, "%" PRIu64 ", as expert_count says", count);
	return 0;
}

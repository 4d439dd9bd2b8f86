/* SPDX-License-Identifier: MIT */
/* check_blocks.c - see check_blocks.h. */
#include "fs/check/check_blocks.h"
#include "fs/check/check_groups.h"
#include "fs/check/check_verdict.h"
#include "fs/metadata/metadata.h"
#include "fs/model/model.h"
#include "fs/model/slots.h"
#include "gguf/reader.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

/* Limit of kinds of blocks in the base; one block of each kind is an example for added blocks. */
#define EXAMPLES 8

#define COUNT_KEY ".block_count"
#define NEXTN_KEY ".nextn_predict_layers"

static int kind_of(const struct check_groups *groups, uint32_t slot)
{
	const struct organ_place *place = &groups->model->places[slot];

	return anatomy_block_kind(place->tensor, place->tensor_length);
}

int32_t check_blocks_of(const struct check_groups *groups, uint32_t slot)
{
	const struct organ_place *place = &groups->model->places[slot];

	return place->block < BLOCKS_MAX && kind_of(groups, slot) >= 0 ? place->block : -1;
}

static void role_of(const struct check_groups *groups, uint32_t slot,
		    char role[ANATOMY_NAME_MAX + 1])
{
	const struct organ_place *place = &groups->model->places[slot];

	anatomy_role(place->tensor, place->tensor_length, role);
}

static bool is_there(const struct check_groups *groups, uint32_t slot)
{
	return !content_is_whiteout(groups->content[slot]);
}

struct check_block *check_blocks_find(const struct check_groups *groups)
{
	struct check_block *blocks = calloc(BLOCKS_MAX, sizeof(*blocks));

	for (uint32_t i = 0; blocks && i < groups->n_slots; i++) {
		const int32_t b = check_blocks_of(groups, i);
		char role[ANATOMY_NAME_MAX + 1];

		if (b < 0)
			continue;
		role_of(groups, i, role);
		if (i < groups->model->gguf->n_tensors) {
			blocks[b].base++;
			blocks[b].roles += XXH3_64bits(role, strlen(role));
		}
		if (!is_there(groups, i))
			continue;
		blocks[b].n++;
		blocks[b].kinds |= 1u << kind_of(groups, i);
		blocks[b].nextn |= strncmp(role, "nextn_", 6) == 0;
	}
	return blocks;
}

bool check_blocks_is_there(const struct check_groups *groups, const struct check_block *blocks,
			   uint32_t slot)
{
	const int32_t b = check_blocks_of(groups, slot);

	return b >= 0 && blocks[b].kinds >> kind_of(groups, slot) & 1;
}

/* Find blocks of the base with different sets of roles. Returns their number. */
static uint32_t find_examples(const struct check_block *blocks, int32_t examples[EXAMPLES])
{
	uint32_t n = 0;

	for (int32_t b = 0; b < BLOCKS_MAX && n < EXAMPLES; b++) {
		bool seen = blocks[b].base == 0;

		for (uint32_t k = 0; k < n && !seen; k++)
			seen = blocks[b].base == blocks[examples[k]].base &&
			       blocks[b].roles == blocks[examples[k]].roles;
		if (!seen)
			examples[n++] = b;
	}
	return n;
}

/* Whether a block has the tensor that corresponds to a slot of another block. */
static bool has_like(const struct check_groups *groups, int32_t block, uint32_t slot)
{
	const struct organ_place *place = &groups->model->places[slot];
	char name[512], file[ANATOMY_NAME_MAX + 1];
	uint32_t found;
	const size_t n =
		anatomy_in_block(place->tensor, place->tensor_length, block, name, sizeof(name));

	if (!n)
		return false;
	anatomy_file_name(name, n, NAME_SHORT, file);
	return model_find_slot(groups->model, place->klass, file, strlen(file), &found) &&
	       found < groups->n_slots && is_there(groups, found);
}

/* Find the slots of the example that the block lacks; lacking has room for all. Returns their
 * number. */
static uint32_t compare(const struct check_groups *groups, int32_t block, int32_t example,
			uint32_t *lacking)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < groups->model->gguf->n_tensors; i++)
		if (check_blocks_of(groups, i) == example && !has_like(groups, block, i))
			lacking[n++] = i;
	return n;
}

/* Name the roles that an added block lacks compared with the most similar example; empty text:
 * none. Returns 0 or -ENOMEM. */
static int lacks_of_examples(const struct check_groups *groups, int32_t block,
			     const struct check_block *blocks, char *text, size_t size)
{
	uint32_t *lacking = calloc(groups->model->gguf->n_tensors + 1u, sizeof(*lacking));
	int32_t examples[EXAMPLES];
	const uint32_t n = find_examples(blocks, examples);
	uint32_t least = UINT32_MAX, best = 0;

	text[0] = '\0';
	if (!lacking)
		return -ENOMEM;
	for (uint32_t k = 0; k < n && least; k++) {
		const uint32_t lacks = compare(groups, block, examples[k], lacking);

		if (lacks < least) {
			least = lacks;
			best = k;
		}
	}
	if (n && least)
		check_groups_roles(groups, lacking, compare(groups, block, examples[best], lacking),
				   text, size);
	free(lacking);
	return 0;
}

/* The same for a nextn block, which needs the tensors that llama.cpp requires, and some form of
 * attention and feed-forward network. */
static void lacks_of_nextn(const struct check_groups *groups, int32_t block, char *text,
			   size_t size)
{
	static const char *const parts[][2] = {
		{ "nextn_eh_proj", "nextn_eh_proj" }, { "nextn_enorm", "nextn_enorm" },
		{ "nextn_hnorm", "nextn_hnorm" },     { "attn_norm", "attn_norm" },
		{ "attn_output", "attn_output" },     { "ffn_down", "ffn_down_exps" },
	};
	bool has[sizeof(parts) / sizeof(parts[0])] = { false };
	size_t used = 0;

	for (uint32_t i = 0; i < groups->n_slots; i++) {
		char role[ANATOMY_NAME_MAX + 1];

		if (check_blocks_of(groups, i) != block || !is_there(groups, i))
			continue;
		role_of(groups, i, role);
		for (size_t k = 0; k < sizeof(parts) / sizeof(parts[0]); k++)
			has[k] |= strcmp(role, parts[k][0]) == 0 || strcmp(role, parts[k][1]) == 0;
	}
	text[0] = '\0';
	for (size_t k = 0; k < sizeof(parts) / sizeof(parts[0]); k++)
		if (!has[k] && used < size)
			used += (size_t)snprintf(text + used, size - used, "%s%s", used ? ", " : "",
						 parts[k][0]);
}

int check_blocks_added(const struct check_groups *groups, const struct check_block *blocks,
		       struct finding *finding)
{
	char text[96] = "";
	int32_t b = 0;
	int rc = 0;

	/* Report the first incomplete block. */
	for (; rc == 0 && b < BLOCKS_MAX && !text[0]; b++) {
		if (blocks[b].base || !blocks[b].n)
			continue;
		if (blocks[b].nextn)
			lacks_of_nextn(groups, b, text, sizeof(text));
		else
			rc = lacks_of_examples(groups, b, blocks, text, sizeof(text));
	}
	if (rc == 0 && text[0])
		finding_add(finding, VERDICT_IMPOSSIBLE, "%sblk %" PRId32 " was added and lacks %s",
			    blocks[b - 1].nextn ? "nextn " : "", b - 1, text);
	return rc;
}

static bool ends_with(const char *key, size_t length, const char *ending)
{
	const size_t n = strlen(ending);

	return length > n && memcmp(key + length - n, ending, n) == 0;
}

static const struct kv *find_key(const struct gguf *header, const char *ending)
{
	for (uint32_t i = 0; i < header->n_kv; i++)
		if (ends_with(header->kv[i].key, header->kv[i].key_length, ending))
			return &header->kv[i];
	return NULL;
}

/* Name of the architecture, "llama", without a NUL. Returns its length. */
static int architecture(const struct gguf *header, const char **name)
{
	const struct kv *kv = find_key(header, COUNT_KEY);

	*name = kv ? kv->key : "ARCH";
	return kv ? (int)(kv->key_length - strlen(COUNT_KEY)) : 4;
}

/* Compare the nextn blocks with the metadata; marked has room for all blocks. */
static void judge_nextn(const struct gguf *header, const struct check_block *blocks, bool *marked,
			struct finding *finding)
{
	const struct kv *kv = find_key(header, NEXTN_KEY);
	uint32_t n = 0, end = 0, inner = 0;
	uint64_t told = 0;
	const bool is_number = kv && kv_unsigned(kv, &told);
	const char *name;
	const int length = architecture(header, &name);
	char numbers[48];

	for (uint32_t b = 0; b < BLOCKS_MAX; b++) {
		marked[b] = blocks[b].nextn;
		n += marked[b];
		if (blocks[b].n)
			end = b + 1;
		inner = marked[b] ? inner : n ? inner + (blocks[b].n != 0) : 0;
	}
	check_groups_numbers(marked, end, numbers, sizeof(numbers));
	if (kv && !is_number)
		finding_set(finding, VERDICT_IMPOSSIBLE,
			    "%.*s" NEXTN_KEY " is no number: set user.organfs.type to uint32",
			    length, name);
	else if (n && !told)
		finding_set(finding, VERDICT_IMPOSSIBLE,
			    "blk %s would be ordinary: write %" PRIu32
			    " to metadata/%.*s" NEXTN_KEY,
			    numbers, n, length, name);
	else if (!n && told)
		finding_set(finding, VERDICT_IMPOSSIBLE,
			    "%.*s" NEXTN_KEY " says %" PRIu64 ", and no block has nextn tensors",
			    length, name, told);
	else if (n != told)
		finding_set(finding, VERDICT_IMPOSSIBLE,
			    "%.*s" NEXTN_KEY " says %" PRIu64 ", and %" PRIu32
			    " block%s nextn tensors",
			    length, name, told, n, n == 1 ? " has" : "s have");
	else if (inner)
		finding_set(finding, VERDICT_IMPOSSIBLE,
			    "nextn blocks have to be the last ones; of %" PRIu32 " they are %s",
			    end, numbers);
	else if (n)
		finding_set(finding, VERDICT_OK, "blk %s, as nextn_predict_layers says", numbers);
	else
		finding_set(finding, VERDICT_OK, "none, as nextn_predict_layers says");
}

int check_blocks_nextn(const struct check_groups *groups, const struct gguf *header,
		       struct finding *finding)
{
	struct check_block *blocks = check_blocks_find(groups);
	bool *marked = calloc(BLOCKS_MAX, sizeof(*marked));
	const int rc = blocks && marked ? 0 : -ENOMEM;

	if (rc == 0)
		judge_nextn(header, blocks, marked, finding);
	free(blocks);
	free(marked);
	return rc;
}

bool check_blocks_has_nextn(const struct check_groups *groups)
{
	const struct metadata_edits *edits = groups->edits;

	if (find_key(groups->model->gguf, NEXTN_KEY))
		return true;
	for (uint32_t i = 0; edits && i < edits->n; i++)
		if (ends_with(edits->edits[i].key.key, edits->edits[i].key.length, NEXTN_KEY))
			return true;
	for (uint32_t i = 0; i < groups->n_slots; i++) {
		char role[ANATOMY_NAME_MAX + 1];

		role_of(groups, i, role);
		if (is_there(groups, i) && check_blocks_of(groups, i) >= 0 &&
		    strncmp(role, "nextn_", 6) == 0)
			return true;
	}
	return false;
}

bool check_blocks_all_nextn(const struct check_groups *groups, const struct check_group *group)
{
	struct check_block *blocks = check_blocks_find(groups);
	bool all = blocks != NULL;

	for (uint32_t k = 0; all && k < group->n; k++) {
		const int32_t b = check_blocks_of(groups, group->slots[k]);

		all = b >= 0 && blocks[b].nextn;
	}
	free(blocks);
	return all;
}

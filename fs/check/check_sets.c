/* SPDX-License-Identifier: MIT */
/* check_sets.c - see check_sets.h. */
#include "fs/check/check_sets.h"
#include "fs/check/check_groups.h"
#include "fs/check/check_host.h"
#include "fs/check/check_verdict.h"
#include "fs/model/model.h"
#include "fs/model/slots.h"
#include "fs/util/plural.h"
#include "gguf/arena.h"
#include "gguf/names.h"
#include "gguf/reader.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DISTANCE_MAX 4

int check_sets_shape(const struct check_groups *groups, const struct check_group *group,
		     struct finding *finding)
{
	const struct gguf *gguf = groups->model->gguf;
	const struct gguf_tensor *slot = NULL; /* the first that is wrong */
	uint32_t wrong = 0, first = 0, compared = 0;
	char path[ORGAN_PATH_MAX], theirs[SHAPE_TEXT_MAX], ours[SHAPE_TEXT_MAX];

	for (uint32_t k = 0; k < group->n; k++) {
		const uint32_t i = group->slots[k];
		const struct gguf_tensor *tensor;

		if (i >= gguf->n_tensors)
			continue;
		tensor = check_groups_tensor(groups, i);
		compared++;
		if (memcmp(groups->content[i]->organ.ne, tensor->ne, sizeof(tensor->ne)) != 0 &&
		    !check_host_experts_shape(&groups->content[i]->organ, tensor) && wrong++ == 0) {
			first = i;
			slot = tensor;
		}
	}
	if (slot)
		finding_set(finding, VERDICT_IMPOSSIBLE,
			    "%" PRIu32 " of %" PRIu32 " differ: %s is %s, the slot %s", wrong,
			    group->n, model_organ_path(groups->model, first, path),
			    shape_text(groups->content[first]->organ.ne,
				       groups->content[first]->organ.dims, theirs),
			    shape_text(slot->ne, slot->dims, ours));
	else if (compared)
		finding_set(finding, VERDICT_OK, "the slots' own");
	else
		finding_set(finding, VERDICT_OK, "all are added, there is nothing to compare with");
	return 0;
}

/* Whether the shape is that of this role in every nextn block. */
static bool is_nextn_shape(const char *role, const uint64_t ne[GGML_AXES], uint64_t width)
{
	if (strcmp(role, "nextn_eh_proj") == 0)
		return ne[0] == 2 * width && ne[1] == width;
	return strncmp(role, "nextn_", 6) == 0 && ne[0] == width;
}

/* The first tensor of the base of each role. NULL: out of memory. */
static struct names *roles_of_base(const struct check_groups *groups, struct arena *arena)
{
	struct names *names = names_new(64);
	const struct gguf *gguf = groups->model->gguf;
	bool well = names != NULL;

	for (uint32_t i = 0; well && i < gguf->n_tensors; i++) {
		const struct gguf_tensor *t = &gguf->tensors[i];
		char role[ANATOMY_NAME_MAX + 1];
		const char *kept;
		uint32_t first;

		anatomy_role(t->name, t->name_length, role);
		if (names_find(names, role, strlen(role), &first))
			continue;
		kept = arena_copy(arena, role, strlen(role));
		well = kept && names_add(names, kept, strlen(role), i) == 0;
	}
	if (well)
		return names;
	names_free(names);
	return NULL;
}

bool check_sets_shapes_agree(const struct check_groups *groups, const struct check_group *group,
			     uint64_t width)
{
	const struct gguf *gguf = groups->model->gguf;
	struct arena *arena = arena_new();
	struct names *names = arena ? roles_of_base(groups, arena) : NULL;
	bool agree = names != NULL;

	for (uint32_t k = 0; agree && k < group->n; k++) {
		const struct organ_place *place = &groups->model->places[group->slots[k]];
		const struct organ *organ = &groups->content[group->slots[k]]->organ;
		char role[ANATOMY_NAME_MAX + 1];
		uint32_t like = group->slots[k];

		anatomy_role(place->tensor, place->tensor_length, role);
		if (like < gguf->n_tensors || names_find(names, role, strlen(role), &like))
			agree = memcmp(organ->ne, gguf->tensors[like].ne, sizeof(organ->ne)) == 0;
		else
			agree = is_nextn_shape(role, organ->ne, width);
	}
	names_free(names);
	arena_free(arena);
	return agree;
}

/* Match of the organ's role with its slot's; a similar role in another shape is another role. */
static enum role_match role_in(const struct check_groups *groups, uint32_t slot)
{
	const struct organ_place *place = &groups->model->places[slot];
	const struct gguf *gguf = groups->model->gguf;
	const struct content *content = groups->content[slot];
	const enum role_match match = content_role(content, place->tensor, place->tensor_length);
	const bool fits = slot >= gguf->n_tensors ||
			  memcmp(content->organ.ne, check_groups_tensor(groups, slot)->ne,
				 sizeof(content->organ.ne)) == 0;

	return match == ROLE_ALIKE && !fits ? ROLE_OTHER : match;
}

int check_sets_role(const struct check_groups *groups, const struct check_group *group,
		    struct finding *finding)
{
	enum role_match worst = ROLE_SAME;
	uint32_t n = 0, first = 0;
	char path[ORGAN_PATH_MAX], count[32];

	for (uint32_t k = 0; k < group->n; k++) {
		const enum role_match match = role_in(groups, group->slots[k]);

		if (match > worst) {
			worst = match;
			first = group->slots[k];
			n = 0;
		}
		n += match == worst;
	}
	model_organ_path(groups->model, first, path);
	snprintf(count, sizeof(count), "%" PRIu32 " of %" PRIu32, n, group->n);
	if (worst == ROLE_SAME)
		finding_set(finding, VERDICT_OK, "each plays the part that its header names");
	else if (worst == ROLE_UNNAMED)
		finding_set(finding, VERDICT_UNKNOWN,
			    "%s: the header of %.60s names no part that is known", count, path);
	else
		finding_set(finding, worst == ROLE_ALIKE ? VERDICT_RISKY : VERDICT_IMPOSSIBLE,
			    "%s: %.60s holds %.48s, which %s", count, path,
			    groups->content[first]->organ.name,
			    worst == ROLE_ALIKE ? "can stand there" : "plays another part");
	return 0;
}

/* A type that ggml has removed; a higher number may be a fork's, or a future type. */
static bool is_retired(uint32_t type)
{
	return !type_find(type) && type < GGML_TYPES;
}

/* A type that ggml does not load: a fork's, known here or not. */
static bool is_foreign(uint32_t type)
{
	const struct type_info *info = type_find(type);

	return !info || info->fork;
}

/* Whether the base has such tensors too: then the program that runs the base knows them. */
static bool has_foreign_types(const struct gguf *gguf)
{
	for (uint32_t i = 0; i < gguf->n_tensors; i++)
		if (is_foreign(type_id(gguf->tensors[i].type)))
			return true;
	return false;
}

/* Whether the type's block size does not divide the organ's rows, as shape=any allows. */
static bool has_odd_rows(const struct organ *organ)
{
	const struct type_info *type = type_find(organ->type);

	return type && organ->ne[0] % type->block_elements != 0;
}

static void judge_types(const struct check_groups *groups, uint32_t n, uint32_t first,
			struct finding *finding)
{
	const struct organ *organ = &groups->content[first]->organ;
	const struct type_info *type = type_find(organ->type);
	const bool odd = has_odd_rows(organ), retired = is_retired(organ->type);
	char scratch[TYPE_NAME_MAX], path[ORGAN_PATH_MAX];

	if (odd || retired)
		finding_set(finding, VERDICT_IMPOSSIBLE, "%s of %.60s, which %s",
			    type_name(organ->type, scratch),
			    model_organ_path(groups->model, first, path),
			    odd ? "does not divide its rows" : "ggml does not know any more");
	else if (has_foreign_types(groups->model->gguf))
		finding_set(finding, VERDICT_OK,
			    "%" PRIu32 " of types that ggml does not know, as some of this model's",
			    n);
	else
		finding_set(finding, VERDICT_UNKNOWN,
			    "%s of %.60s, which ggml does not know; %s may load it",
			    type_name(organ->type, scratch),
			    model_organ_path(groups->model, first, path),
			    type ? type->fork : "a fork");
}

int check_sets_type(const struct check_groups *groups, const struct check_group *group,
		    struct finding *finding)
{
	uint32_t unknown = 0, other = 0, first = 0, worst = 0;

	for (uint32_t k = 0; k < group->n; k++) {
		const uint32_t i = group->slots[k];
		const struct organ *organ = &groups->content[i]->organ;
		const uint32_t bad = has_odd_rows(organ) || is_retired(organ->type)
					     ? 2
					     : is_foreign(organ->type);

		if (bad > worst) {
			worst = bad;
			first = i;
		}
		unknown += bad != 0;
		other += i < groups->model->gguf->n_tensors &&
			 organ->type != check_groups_tensor(groups, i)->type;
	}
	if (unknown)
		judge_types(groups, unknown, first, finding);
	else if (other)
		finding_set(finding, VERDICT_OK,
			    "known to ggml; %" PRIu32 " of %" PRIu32 " other than the slots' own",
			    other, group->n);
	else
		finding_set(finding, VERDICT_OK, "known to ggml");
	return 0;
}

int check_sets_distance(const struct check_groups *groups, const struct check_group *group,
			struct finding *finding)
{
	int32_t most = -1, from = 0, to = 0;
	uint32_t far = 0;

	for (uint32_t k = 0; k < group->n; k++) {
		const int32_t host = groups->model->places[group->slots[k]].block;
		const int32_t donor = check_groups_donor_block(groups, group->slots[k]);
		int32_t distance;

		if (host < 0 || donor < 0)
			continue;
		distance = donor > host ? donor - host : host - donor;
		far += distance > DISTANCE_MAX;
		if (distance > most) {
			most = distance;
			from = donor;
			to = host;
		}
	}
	if (most < 0)
		finding_set(finding, VERDICT_OK, "none is of a block");
	else if (most == 0)
		finding_set(finding, VERDICT_OK, "each in the block that it was in");
	else
		finding_set(finding, far ? VERDICT_RISKY : VERDICT_OK,
			    "block %" PRId32 " into block %" PRId32 ", %" PRId32
			    " apart, is the farthest; %" PRIu32 " %s more than %d apart",
			    from, to, most, far, far == 1 ? "is" : "are", DISTANCE_MAX);
	return 0;
}

/* Sets of tensors that work together. */
enum set { SET_FFN, SET_EXPERTS, SET_SHARED, SET_ATTENTION, SET_BLOCK, SETS };

/* Counts of one set in one block of the host. */
struct check_sets_tally {
	uint32_t present, grafted; /* tensors in the set, and grafts among them */
	int32_t source;		   /* the donor's block */
	bool mixed;		   /* several donor blocks */
};

/* Set of a role; SET_BLOCK: none of the others. */
static enum set set_of(const char *role)
{
	static const char *const attention[] = { "attn_q", "attn_k", "attn_v", "attn_output" };
	static const char *const ffn[] = { "ffn_gate", "ffn_up", "ffn_down" };

	for (size_t i = 0; i < sizeof(attention) / sizeof(attention[0]); i++)
		if (strcmp(role, attention[i]) == 0)
			return SET_ATTENTION;
	for (size_t i = 0; i < sizeof(ffn) / sizeof(ffn[0]); i++) {
		const size_t n = strlen(ffn[i]);

		if (strncmp(role, ffn[i], n) != 0)
			continue;
		if (!role[n])
			return SET_FFN;
		if (strcmp(role + n, "_exps") == 0)
			return SET_EXPERTS;
		if (strcmp(role + n, "_shexp") == 0)
			return SET_SHARED;
	}
	return SET_BLOCK;
}

static void count_one(struct check_sets_tally *tally, bool grafted, int32_t source)
{
	tally->present++;
	if (!grafted)
		return;
	tally->mixed |= tally->grafted && tally->source != source;
	tally->source = source;
	tally->grafted++;
}

/* Tallies of all blocks, to free. NULL: out of memory. */
static struct check_sets_tally *count(const struct check_groups *groups,
				      const struct check_group *group, uint32_t *blocks)
{
	struct check_sets_tally *tallies;
	uint32_t next = 0;

	*blocks = 0;
	for (uint32_t i = 0; i < groups->n_slots; i++) {
		const int32_t block = groups->model->places[i].block;

		if (block < BLOCKS_MAX && block >= 0 && (uint32_t)block >= *blocks)
			*blocks = (uint32_t)block + 1;
	}
	tallies = calloc((size_t)*blocks * SETS + 1, sizeof(*tallies));
	for (uint32_t i = 0; tallies && i < groups->n_slots; i++) {
		const struct organ_place *place = &groups->model->places[i];
		const bool here = next < group->n && group->slots[next] == i;
		/* A graft made from the slot's own tensor, as by a view, does not count. */
		const bool grafted =
			here && !(group->kind == GROUP_SELF && check_groups_in_place(groups, i));
		char role[ANATOMY_NAME_MAX + 1];
		struct check_sets_tally *block;
		int32_t source;
		enum set set;

		next += here;
		if (content_is_whiteout(groups->content[i]) || place->block < 0 ||
		    place->block >= BLOCKS_MAX)
			continue;
		block = &tallies[(size_t)place->block * SETS];
		source = grafted ? check_groups_donor_block(groups, i) : -1;
		anatomy_role(place->tensor, place->tensor_length, role);
		set = set_of(role);
		count_one(&block[SET_BLOCK], grafted, source);
		if (set != SET_BLOCK)
			count_one(&block[set], grafted, source);
	}
	return tallies;
}

static void report_broken(enum set set, const bool *broken, uint32_t blocks,
			  struct finding *finding)
{
	static const char *const words[SETS] = { "ffn gate, up and down",
						 "the experts' gate, up and down",
						 "the shared experts' gate, up and down",
						 "attention q, k, v and output" };
	char numbers[48];

	check_groups_numbers(broken, blocks, numbers, sizeof(numbers));
	if (numbers[0])
		finding_add(finding, VERDICT_RISKY, "%s are not from one place in blk %s",
			    words[set], numbers);
}

static void judge(const struct check_sets_tally *tallies, uint32_t blocks, bool *broken,
		  struct finding *finding)
{
	uint32_t whole = 0, sets = 0;

	finding_set(finding, VERDICT_OK, "%s", "");
	for (enum set set = 0; set < SETS; set++) {
		for (uint32_t b = 0; b < blocks; b++) {
			const struct check_sets_tally *t = &tallies[(size_t)b * SETS + set];
			const bool one = t->grafted && t->grafted == t->present && !t->mixed;

			broken[b] = set != SET_BLOCK && t->grafted && !one;
			whole += set == SET_BLOCK && one;
			sets += set != SET_BLOCK && one;
		}
		if (set != SET_BLOCK)
			report_broken(set, broken, blocks, finding);
	}
	if (finding->verdict == VERDICT_OK && sets == 0)
		finding_set(finding, VERDICT_OK,
			    "no attention and no feed-forward network is divided");
	else if (finding->verdict == VERDICT_OK)
		finding_set(finding, VERDICT_OK, "%" PRIu32 " whole %s, %" PRIu32 " whole block%s",
			    sets,
			    sets == 1 ? "attention or feed-forward network"
				      : "attentions and feed-forward networks",
			    whole, plural(whole));
}

int check_sets_unit(const struct check_groups *groups, const struct check_group *group,
		    struct finding *finding)
{
	uint32_t blocks;
	struct check_sets_tally *tallies = count(groups, group, &blocks);
	bool *broken = calloc(blocks + 1u, sizeof(*broken));
	const int rc = tallies && broken ? 0 : -ENOMEM;

	if (rc == 0)
		judge(tallies, blocks, broken, finding);
	free(tallies);
	free(broken);
	return rc;
}

/* A higher cosine means one model at two precisions; training leaves a lower one. */
#define SAME_MODEL 0.99

void check_sets_unit_of_kin(const struct check_groups *groups, const struct check_group *group,
			    double likeness, struct finding *finding)
{
	if (!(likeness > SAME_MODEL) || finding->verdict != VERDICT_RISKY)
		return;
	for (uint32_t k = 0; k < group->n; k++)
		if (!check_groups_in_place(groups, group->slots[k]))
			return;
	finding_set(finding, VERDICT_OK,
		    "parts of networks, each in its own place, of the same model at another "
		    "precision: cosine %.3f",
		    likeness);
}

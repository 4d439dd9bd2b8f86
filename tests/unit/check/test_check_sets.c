/* SPDX-License-Identifier: MIT */
/* test_check_sets.c - fs/check/check_sets.c: findings on the source and target places of grafts,
 * and on tensors that work together. */
#include "fs/check/check_groups.h"
#include "fs/check/check_sets.h"
#include "fs/check/check_verdict.h"
#include "fs/model/model.h"
#include "fs/model/slots.h"
#include "tests/unit/open_model.h"

#include <math.h>

#define BLOCKS	7u
#define EXPERTS (BLOCKS - 1) /* the block whose feed-forward network has experts */

/* Tensors of a block, in file order. */
enum { Q, K, V, O, GATE, UP, DOWN, PER_BLOCK };
/* Tensors after those of the block of experts. */
enum { SHARED_GATE = BLOCKS * PER_BLOCK, SHARED_UP, SHARED_DOWN, EMBED, TENSORS };

static const char *const roles[PER_BLOCK] = { "attn_q",	  "attn_k", "attn_v",  "attn_output",
					      "ffn_gate", "ffn_up", "ffn_down" };

static void tensor_name(uint32_t i, char name[40])
{
	const uint32_t block = i / PER_BLOCK, part = i % PER_BLOCK;

	if (i == EMBED)
		strcpy(name, "token_embd.weight");
	else if (i >= SHARED_GATE)
		snprintf(name, 40, "blk.%u.%s_shexp.weight", EXPERTS,
			 roles[GATE + i - SHARED_GATE]);
	else
		snprintf(name, 40, "blk.%u.%s%s.weight", block, roles[part],
			 block == EXPERTS && part >= GATE ? "_exps" : "");
}

static struct opened make(void **state, const char *name)
{
	static const uint64_t experts[3] = { 8, 4, 2 };
	struct mkgguf *m = mkgguf_new(3);
	char names[TENSORS][40];
	struct mk_file file;

	mkgguf_kv_string(m, "general.architecture", "llama");
	for (uint32_t i = 0; i < TENSORS; i++) {
		tensor_name(i, names[i]);
		mkgguf_tensor(m, names[i], GGML_F32, strstr(names[i], "_exps") ? 3 : 2, experts);
	}
	file = mkgguf_finish(m);
	save(state, name, &file);
	mk_file_free(&file);
	return open_with(state, name, &(struct model_options){ .any_shape = true });
}

struct scene {
	struct opened o, donor;
};

static struct scene begin(void **state)
{
	struct scene scene = { make(state, "base.gguf"), make(state, "donor.gguf") };

	scene.donor.model->number = 1;
	return scene;
}

static void end(struct scene *scene)
{
	close_model(&scene->o);
	close_model(&scene->donor);
}

/* Fill slot to with tensor from of the donor, or with self of the model itself. */
static void graft_from(const struct scene *scene, bool self, uint32_t from, uint32_t to)
{
	const struct organ_place *place = &scene->o.model->places[to];

	assert_int_equal(graft_link(self ? scene->o.model : scene->donor.model, from,
				    scene->o.model, place->klass, place->name),
			 0);
}

static void graft(const struct scene *scene, uint32_t from, uint32_t to)
{
	graft_from(scene, false, from, to);
}

#define AT(block, part) ((block)*PER_BLOCK + (part))

/* Finding of a check for the first donor. */
static struct finding look(const struct scene *scene, check_sets_fn *check)
{
	struct check_groups *groups;
	struct snapshot snapshot;
	struct finding finding;

	assert_int_equal(model_snapshot(scene->o.model, &snapshot), 0);
	groups = check_groups_new(scene->o.model, &snapshot);
	assert_non_null(groups);
	assert_int_equal(check(groups, &groups->groups[0], &finding), 0);
	check_groups_free(groups);
	snapshot_release(&snapshot);
	return finding;
}

#define assert_found(scene, check, judged, said)                   \
	do {                                                       \
		const struct finding finding = look(scene, check); \
		assert_string_equal(finding.text, said);           \
		assert_int_equal(finding.verdict, judged);         \
	} while (0)

/* Check the judgement and its object; other tests check the whole sentence. */
#define assert_judged(scene, check, judged, about)                 \
	do {                                                       \
		const struct finding finding = look(scene, check); \
		assert_non_null(strstr(finding.text, about));      \
		assert_int_equal(finding.verdict, judged);         \
	} while (0)

static void blocks_that_are_far_apart_are_a_risk(void **state)
{
	static const struct {
		uint32_t from, to;
		enum verdict verdict;
		const char *says;
	} grafts[] = {
		{ EMBED, EMBED, VERDICT_OK, "none is of a block" },
		{ AT(0, Q), AT(0, Q), VERDICT_OK, "each in the block that it was in" },
		{ AT(0, Q), AT(4, Q), VERDICT_OK,
		  "block 0 into block 4, 4 apart, is the farthest; 0 are more than 4 apart" },
		{ AT(6, Q), AT(1, Q), VERDICT_RISKY, "; 1 is more" },
		{ AT(0, Q), AT(5, Q), VERDICT_RISKY,
		  "block 6 into block 1, 5 apart, is the farthest; 2 are" },
	};
	struct scene scene = begin(state);

	for (size_t i = 0; i < ARRAY_LENGTH(grafts); i++) {
		graft(&scene, grafts[i].from, grafts[i].to);
		assert_judged(&scene, check_sets_distance, grafts[i].verdict, grafts[i].says);
	}
	end(&scene);
}

static void divided_networks_are_risky(void **state)
{
	struct scene scene = begin(state);

	graft(&scene, EMBED, EMBED);
	assert_found(&scene, check_sets_unit, VERDICT_OK,
		     "no attention and no feed-forward network is divided");
	for (uint32_t part = GATE; part <= DOWN; part++)
		graft(&scene, AT(2, part), AT(0, part));
	assert_found(&scene, check_sets_unit, VERDICT_OK,
		     "1 whole attention or feed-forward network, 0 whole blocks");
	for (uint32_t part = Q; part <= O; part++)
		graft(&scene, AT(2, part), AT(0, part));
	assert_judged(&scene, check_sets_unit, VERDICT_OK, "networks, 1 whole block");
	/* The tensor comes from another block. */
	graft(&scene, AT(1, UP), AT(0, UP));
	assert_found(&scene, check_sets_unit, VERDICT_RISKY,
		     "ffn gate, up and down are not from one place in blk 0");
	/* DOWN is the last tensor of block 3. */
	graft(&scene, AT(3, DOWN), AT(3, DOWN));
	graft(&scene, AT(4, O), AT(4, O));
	assert_judged(&scene, check_sets_unit, VERDICT_RISKY,
		      "blk 0, 3; attention q, k, v and output ");
	end(&scene);
}

static void experts_and_shared_experts_are_sets_of_their_own(void **state)
{
	struct scene scene = begin(state);

	graft(&scene, AT(EXPERTS, GATE), AT(EXPERTS, GATE));
	graft(&scene, SHARED_DOWN, SHARED_DOWN);
	assert_judged(&scene, check_sets_unit, VERDICT_RISKY, "the experts' gate, up and down ");
	assert_judged(&scene, check_sets_unit, VERDICT_RISKY,
		      "; the shared experts' gate, up and ");
	graft(&scene, AT(EXPERTS, UP), AT(EXPERTS, UP));
	graft(&scene, AT(EXPERTS, DOWN), AT(EXPERTS, DOWN));
	assert_judged(&scene, check_sets_unit, VERDICT_RISKY, "the shared experts'");
	assert_null(strstr(look(&scene, check_sets_unit).text, "the experts'"));
	graft(&scene, SHARED_GATE, SHARED_GATE);
	graft(&scene, SHARED_UP, SHARED_UP);
	assert_judged(&scene, check_sets_unit, VERDICT_OK,
		      "2 whole attentions and feed-forward networks, ");
	end(&scene);
}

/* A view of the slot's own tensor is no graft that would divide a network. */
static void the_model_s_own_organ_elsewhere_takes_apart(void **state)
{
	struct scene scene = begin(state);

	graft_from(&scene, true, AT(1, UP), AT(0, UP));
	assert_judged(&scene, check_sets_unit, VERDICT_RISKY, "ffn gate, up and down ");
	end(&scene);
}

static void fill_first_up(const struct scene *scene, const char *name, const uint64_t *ne)
{
	assert_int_equal(fill_organ(scene->o.model, AT(0, UP), name, GGML_F32, 2, ne, 60), 0);
}

static void role_is_read_from_the_header(void **state)
{
	struct scene scene = begin(state);

	fill_first_up(&scene, "blk.0.ffn_gate.weight", small_ne);
	assert_found(&scene, check_sets_role, VERDICT_IMPOSSIBLE,
		     "1 of 1: organs/blk_0_ffn_up.bin holds blk.0.ffn_gate.weight, which plays "
		     "another part");
	fill_first_up(&scene, "nobody's", small_ne);
	assert_found(&scene, check_sets_role, VERDICT_UNKNOWN,
		     "1 of 1: the header of organs/blk_0_ffn_up.bin names no part that is known");
	fill_first_up(&scene, "blk.0.ffn_up.weight", small_ne);
	assert_found(&scene, check_sets_role, VERDICT_OK,
		     "each plays the part that its header names");
	end(&scene);
}

static void shape_is_compared_with_the_slot(void **state)
{
	static const uint64_t ne[2] = { 8, 5 };
	struct scene scene = begin(state);

	fill_first_up(&scene, "blk.0.ffn_up.weight", small_ne);
	assert_found(&scene, check_sets_shape, VERDICT_OK, "the slots' own");
	fill_first_up(&scene, "blk.0.ffn_up.weight", ne);
	assert_found(&scene, check_sets_shape, VERDICT_IMPOSSIBLE,
		     "1 of 1 differ: organs/blk_0_ffn_up.bin is 8x5, the slot 8x4");
	end(&scene);
}

static void type_unknown_to_ggml_is_reported(void **state)
{
	struct scene scene = begin(state);

	assert_int_equal(fill_organ(scene.o.model, AT(0, Q), "blk.0.attn_q.weight", GGML_F32, 2,
				    small_ne, 5),
			 0);
	assert_found(&scene, check_sets_type, VERDICT_OK, "known to ggml");
	assert_int_equal(fill_organ(scene.o.model, AT(0, K), "blk.0.attn_k.weight", GGML_F16, 2,
				    small_ne, 5),
			 0);
	assert_found(&scene, check_sets_type, VERDICT_OK,
		     "known to ggml; 1 of 2 other than the slots' own");
	end(&scene);
}

static void a_type_of_a_fork_is_unknown_to_ggml(void **state)
{
	enum { BF16_R16 = 230 };
	struct scene scene = begin(state);

	assert_int_equal(fill_organ(scene.o.model, AT(0, K), "blk.0.attn_k.weight", BF16_R16, 2,
				    small_ne, 5),
			 0);
	assert_found(&scene, check_sets_type, VERDICT_UNKNOWN,
		     "BF16_R16 of skeleton/blk_0_attn_k.bin, which ggml does not know; "
		     "ik_llama.cpp may load it");
	end(&scene);
}

static struct finding look_at_kin(const struct scene *scene, double likeness)
{
	struct finding finding = { .verdict = VERDICT_RISKY, .text = "apart" };
	struct check_groups *groups;
	struct snapshot snapshot;

	assert_int_equal(model_snapshot(scene->o.model, &snapshot), 0);
	groups = check_groups_new(scene->o.model, &snapshot);
	assert_non_null(groups);
	check_sets_unit_of_kin(groups, &groups->groups[0], likeness, &finding);
	check_groups_free(groups);
	snapshot_release(&snapshot);
	return finding;
}

static void parts_of_same_model_at_other_precision_are_ok(void **state)
{
	struct scene scene = begin(state);

	graft(&scene, AT(0, Q), AT(0, Q));
	assert_int_equal(look_at_kin(&scene, .99).verdict, VERDICT_RISKY);
	assert_int_equal(look_at_kin(&scene, (double)NAN).verdict, VERDICT_RISKY);
	assert_int_equal(look_at_kin(&scene, .995).verdict, VERDICT_OK);
	assert_string_equal(look_at_kin(&scene, .995).text,
			    "parts of networks, each in its own place, of the same model at "
			    "another precision: cosine 0.995");
	/* One tensor goes to another place. */
	graft(&scene, AT(1, K), AT(2, K));
	assert_int_equal(look_at_kin(&scene, .995).verdict, VERDICT_RISKY);
	end(&scene);
}

UNIT_MAIN(temp_setup, temp_teardown)

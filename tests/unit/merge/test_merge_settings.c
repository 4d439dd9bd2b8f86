/* SPDX-License-Identifier: MIT */
/* test_merge_settings.c - fs/merge/merge_settings.c: settings of a configuration for one tensor. */
#include "fs/merge/merge_config.h"
#include "fs/merge/merge_settings.h"
#include "tests/unit/unit.h"

#include <math.h>
#include <xxhash.h>

#define TIES "merge_method: ties\nbase_model: base\n"

/* A configuration, and a tensor's rule by it. */
struct scene {
	struct merge_config config;
	struct merge_rule rule;
	size_t sources[MERGE_INPUTS_MAX];
	struct error err;
};

static int begin(void **state)
{
	*state = calloc(1, sizeof(struct scene));
	return *state ? 0 : -1;
}

static int end(void **state)
{
	struct scene *scene = *state;

	merge_config_release(&scene->config);
	free(scene);
	return 0;
}

static void configure(struct scene *scene, const char *text)
{
	merge_config_release(&scene->config);
	if (merge_config_read(text, strlen(text), &scene->config, &scene->err) != 0)
		fail_msg("%s: %s", text, scene->err.text);
}

/* Place of a block in the result of models with 8 blocks. */
static struct merge_place place_of_block(const struct merge_config *config, uint64_t block)
{
	struct merge_place place = { .block = block };

	for (;; place.slice++) {
		assert_true(place.slice < config->n);
		place.blocks = merge_slice_blocks(config, place.slice, 8);
		if (place.block < place.blocks)
			return place;
		place.block -= place.blocks;
	}
}

/* Rule for a tensor of that block of models with 8 blocks; a negative block is none. */
static const struct merge_rule *rule_of(struct scene *scene, const char *name, int block)
{
	const struct merge_place place =
		block < 0 ? merge_place_outside(&scene->config, MERGE_BEFORE_BLOCKS)
			  : place_of_block(&scene->config, (uint64_t)block);

	if (merge_settings(&scene->config, &place, name, 4, 8, &scene->rule, scene->sources,
			   &scene->err) != 0)
		fail_msg("%s: %s", name, scene->err.text);
	return &scene->rule;
}

static void assert_weight(struct scene *scene, const char *name, int block, double weight)
{
	const double found = rule_of(scene, name, block)->inputs[0].weight;

	if (!(fabs(found - weight) < 1e-12))
		fail_msg("%s at %d: %.17g, not %.17g", name, block, found, weight);
}

static void names_of_gguf_have_those_of_hugging_face(void **state)
{
	static const char *const names[][2] = {
		{ "blk.0.attn_q.weight", "model.layers.0.self_attn.q_proj.weight" },
		{ "blk.12.attn_k.bias", "model.layers.12.self_attn.k_proj.bias" },
		{ "blk.3.attn_v.weight", "model.layers.3.self_attn.v_proj.weight" },
		{ "blk.3.attn_output.weight", "model.layers.3.self_attn.o_proj.weight" },
		{ "blk.3.ffn_gate.weight", "model.layers.3.mlp.gate_proj.weight" },
		{ "blk.3.ffn_up.weight", "model.layers.3.mlp.up_proj.weight" },
		{ "blk.3.ffn_down.weight", "model.layers.3.mlp.down_proj.weight" },
		{ "blk.3.attn_norm.weight", "model.layers.3.input_layernorm.weight" },
		{ "blk.3.ffn_norm.weight", "model.layers.3.post_attention_layernorm.weight" },
		{ "token_embd.weight", "model.embed_tokens.weight" },
		{ "output.weight", "lm_head.weight" },
		{ "output_norm.weight", "model.norm.weight" },
		{ "output", "lm_head" },
		{ "blk.3.ffn_gate_inp.weight", NULL },
		{ "blk..attn_q.weight", NULL },
		{ "blk.3attn_q.weight", NULL },
		{ "blk.3.output.weight", NULL },
		{ "attn_q.weight", NULL },
		{ "", NULL },
	};
	char other[MERGE_NAME_MAX], name[2 * MERGE_NAME_MAX];

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(names); i++) {
		assert_int_equal(merge_other_name(names[i][0], other), names[i][1] != NULL);
		assert_string_equal(other, names[i][1] ? names[i][1] : "");
	}
	memset(name, '1', sizeof(name));
	memcpy(name, "blk.", 4);
	strcpy(name + 300, ".attn_q.weight");
	assert_false(merge_other_name(name, other));
	assert_string_equal(other, "");
}

static void a_gradient_goes_over_the_blocks_of_a_slice(void **state)
{
	struct scene *scene = *state;

	configure(scene, "merge_method: linear\nparameters: {weight: [0, 0.5, 4]}\n"
			 "slices:\n"
			 "- sources: [{model: a, layer_range: [0, 5]}]\n"
			 "- sources: [{model: b, layer_range: [3, 4]}]\n"
			 "- sources: [{model: c, layer_range: [6, 8]}]\n");
	assert_int_equal(merge_blocks(&scene->config, 8), 8);
	assert_weight(scene, "token_embd.weight", -1, 0.0);
	assert_weight(scene, "blk.0.attn_q.weight", 0, 0.0);
	assert_weight(scene, "blk.1.attn_q.weight", 1, 0.25);
	assert_weight(scene, "blk.2.attn_q.weight", 2, 0.5);
	assert_weight(scene, "blk.3.attn_q.weight", 3, 2.25);
	assert_weight(scene, "blk.4.attn_q.weight", 4, 4.0);
	/* The block is the only one of its slice. */
	assert_weight(scene, "blk.5.attn_q.weight", 5, 4.0);
	assert_weight(scene, "blk.6.attn_q.weight", 6, 0.0);
	assert_weight(scene, "blk.7.attn_q.weight", 7, 4.0);
}

static void blocks_are_those_of_their_slices(void **state)
{
	struct scene *scene = *state;
	struct merge_place place;

	configure(scene, "merge_method: passthrough\nslices:\n"
			 "- sources: [{model: a, layer_range: [0, 5]}]\n"
			 "- sources: [{model: b, layer_range: [3, 8]}]\n");
	assert_int_equal(merge_blocks(&scene->config, 8), 10);
	place = place_of_block(&scene->config, 4);
	assert_true(place.slice == 0 && place.block == 4 && place.blocks == 5);
	assert_int_equal(merge_source_block(&scene->config, &place, 0), 4);
	place = place_of_block(&scene->config, 5);
	assert_true(place.slice == 1 && place.block == 0);
	assert_int_equal(merge_source_block(&scene->config, &place, 0), 3);
	assert_int_equal(merge_place_outside(&scene->config, MERGE_BEFORE_BLOCKS).slice, 0);
	assert_int_equal(merge_place_outside(&scene->config, MERGE_BEHIND_BLOCKS).slice, 1);
	assert_true(rule_of(scene, "blk.0.attn_q.weight", 0)->inputs[0].weight == 1.0);
	configure(scene, "merge_method: linear\nmodels: [{model: a, parameters: {weight: 1}}]\n");
	assert_int_equal(merge_blocks(&scene->config, 8), 8);
	place = place_of_block(&scene->config, 7);
	assert_int_equal(merge_source_block(&scene->config, &place, 0), 7);
}

static void the_first_filter_that_is_part_of_either_name_holds(void **state)
{
	struct scene *scene = *state;

	configure(scene, "merge_method: linear\nmodels: [{model: a}]\nparameters:\n"
			 "  weight:\n"
			 "  - {filter: self_attn, value: 1}\n"
			 "  - {filter: ffn_down, value: 2}\n"
			 "  - {filter: mlp, value: [3, 10]}\n"
			 "  - {filter: layers.1., value: 4}\n"
			 "  - {filter: '*', value: 5}\n"
			 "  - {filter: norm, value: 6}\n");
	assert_weight(scene, "blk.0.attn_q.weight", 0, 1.0);
	assert_weight(scene, "blk.0.ffn_down.weight", 0, 2.0);
	assert_weight(scene, "blk.0.ffn_up.weight", 0, 3.0);
	assert_weight(scene, "blk.7.ffn_up.weight", 7, 10.0);
	assert_weight(scene, "blk.1.attn_norm.weight", 1, 4.0);
	assert_weight(scene, "blk.2.attn_norm.weight", 2, 5.0);
	assert_weight(scene, "token_embd.weight", -1, 5.0);
}

static void parameters_fall_through_from_model_to_slice_to_all(void **state)
{
	struct scene *scene = *state;

	configure(scene, "merge_method: linear\nslices:\n- sources:\n"
			 "  - model: a\n    layer_range: [0, 8]\n"
			 "    parameters: {weight: [{filter: attn_q, value: 1}]}\n"
			 "  parameters: {weight: [{filter: attn, value: 2}], normalize: false}\n"
			 "parameters: {weight: [{filter: ffn, value: 3}], normalize: true}\n");
	assert_weight(scene, "blk.0.attn_q.weight", 0, 1.0);
	assert_false(scene->rule.normalize);
	assert_weight(scene, "blk.0.attn_k.weight", 0, 2.0);
	assert_weight(scene, "blk.0.ffn_up.weight", 0, 3.0);
	const struct merge_place place = merge_place_outside(&scene->config, MERGE_BEHIND_BLOCKS);

	assert_refused(merge_settings(&scene->config, &place, "output.weight", 1, 1, &scene->rule,
				      scene->sources, &scene->err),
		       &scene->err, EINVAL, ERROR_NO_OFFSET);
	assert_non_null(strstr(scene->err.text, "line 4, column 5: \"a\" has no \"weight\" for "
						"output.weight"));
}

static void the_base_model_is_no_input_and_places_count_without_it(void **state)
{
	struct scene *scene = *state;
	const char *name = "blk.0.attn_q.weight";

	configure(scene,
		  TIES "models: [{model: a}, {model: base}, {model: b}]\n"
		       "parameters: {weight: 1, density: 0.25, lambda: 2}\nrandom_seed: 5\n");
	rule_of(scene, name, 0);
	assert_int_equal(scene->rule.n, 2);
	assert_int_equal(scene->sources[0], 0);
	assert_int_equal(scene->sources[1], 2);
	assert_true(scene->rule.inputs[1].seed == XXH64(name, strlen(name), 6));
	assert_true(scene->rule.inputs[1].density == 0.25 && scene->rule.lambda == 2.0);
	assert_true(scene->rule.rows == 4 && scene->rule.columns == 8);
	/* linear has no base. */
	configure(scene, "merge_method: linear\nbase_model: base\nparameters: {weight: 1}\n"
			 "models: [{model: a}, {model: base}]\n");
	assert_int_equal(rule_of(scene, name, 0)->n, 2);
}

static void slerp_is_from_the_base_model_to_the_other(void **state)
{
	struct scene *scene = *state;
	const struct merge_place place = { .slice = 0 };

	configure(scene, "merge_method: slerp\nbase_model: b\nmodels: [{model: a}, {model: b}]\n"
			 "parameters: {t: [{filter: mlp, value: 0.25}]}\n");
	assert_true(rule_of(scene, "blk.0.ffn_up.weight", 0)->t == 0.25);
	assert_true(scene->rule.n == 2 && scene->sources[0] == 1 && scene->sources[1] == 0);
	assert_refused(merge_settings(&scene->config, &place, "output.weight", 1, 1, &scene->rule,
				      scene->sources, &scene->err),
		       &scene->err, EINVAL, ERROR_NO_OFFSET);
	assert_non_null(strstr(scene->err.text, "slerp has no \"t\" for output.weight"));
	configure(scene, "merge_method: slerp\nbase_model: b\nmodels: [{model: a}]\n"
			 "parameters: {t: 0.5}\n");
	rule_of(scene, "output.weight", -1);
	assert_true(scene->rule.n == 2 && scene->sources[0] == MERGE_CONFIG_NO_SOURCE &&
		    scene->sources[1] == 0);
	configure(scene, "merge_method: slerp\nmodels: [{model: a}, {model: b}]\n"
			 "parameters: {t: 0.5}\n");
	rule_of(scene, "output.weight", -1);
	assert_true(scene->sources[0] == 0 && scene->sources[1] == 1);
}

static void defaults_are_those_of_mergekit(void **state)
{
	struct scene *scene = *state;

	for (enum merge_method method = 0; method < MERGE_METHODS; method++) {
		const bool dare = method >= MERGE_DARE_LINEAR && method <= MERGE_DELLA_LINEAR;
		char text[200];

		snprintf(text, sizeof(text),
			 "merge_method: %s\nbase_model: base\nmodels: [{model: a}%s]\n%s",
			 merge_method_names[method],
			 method == MERGE_PASSTHROUGH || method == MERGE_NEARSWAP ||
					 method == MERGE_ARCEE_FUSION
				 ? ""
			 : method == MERGE_SLERP ? ", {model: base}"
						 : ", {model: b}",
			 merge_config_takes(method, MERGE_T)	    ? "parameters: {t: 1}\n"
			 : merge_config_takes(method, MERGE_WEIGHT) ? "parameters: {weight: 1}\n"
								    : "");
		configure(scene, text);
		rule_of(scene, "output.weight", -1);
		assert_int_equal(scene->rule.method, method);
		assert_int_equal(scene->rule.normalize,
				 method == MERGE_LINEAR || method == MERGE_TIES ||
					 method == MERGE_DELLA || method == MERGE_MULTISLERP);
		assert_int_equal(scene->rule.rescale, dare);
		assert_int_equal(scene->rule.extent, MERGE_WHOLE);
		assert_true(scene->rule.lambda == 1.0 && scene->rule.inputs[0].density == 1.0);
		assert_true(scene->rule.inputs[0].gamma == 0.01);
		assert_true(scene->rule.inputs[0].epsilon == 0.15);
		assert_true(scene->rule.inputs[0].weight == 1.0);
		assert_true(scene->rule.epsilon == 1e-5 && scene->rule.eps == 1e-8);
		assert_true(scene->rule.r == 0.1 && scene->rule.alpha == 0.2);
		assert_true(scene->rule.tol == 1e-5 && scene->rule.max_iter == 10.0);
		assert_true(scene->rule.select_topk == 1.0);
		assert_true(scene->rule.inputs[0].seed == XXH64("output.weight", 13, 42));
	}
}

static void parameters_of_the_rule_are_those_of_the_configuration(void **state)
{
	struct scene *scene = *state;

	configure(scene, "merge_method: ramplus_tl\nbase_model: c\nmodels: [{model: a}]\n"
			 "parameters: {epsilon: 0.5, r: 2, alpha: 3}\n");
	rule_of(scene, "output.weight", -1);
	assert_true(scene->rule.epsilon == 0.5 && scene->rule.r == 2.0 && scene->rule.alpha == 3.0);
	configure(scene, "merge_method: multislerp\nmodels: [{model: a}]\n"
			 "parameters: {weight: 1, normalize_weights: false, eps: 0.25}\n");
	rule_of(scene, "output.weight", -1);
	assert_true(!scene->rule.normalize && scene->rule.eps == 0.25);
	configure(scene, "merge_method: karcher\nmodels: [{model: a}]\n"
			 "parameters: {max_iter: 3, tol: 0.125}\n");
	rule_of(scene, "output.weight", -1);
	assert_true(scene->rule.max_iter == 3.0 && scene->rule.tol == 0.125);
	configure(scene, "merge_method: sce\nbase_model: c\nmodels: [{model: a}]\n"
			 "parameters: {select_topk: [0, 1]}\n");
	assert_true(rule_of(scene, "output.weight", 7)->select_topk == 1.0);
}

static void a_slice_may_have_a_base_model_of_its_own(void **state)
{
	struct scene *scene = *state;

	configure(scene, "merge_method: nuslerp\nparameters: {weight: 1}\nslices:\n"
			 "- sources: [{model: a, layer_range: [0, 4]},"
			 " {model: b, layer_range: [0, 4]}]\n"
			 "- base_model: c\n"
			 "  sources: [{model: a, layer_range: [4, 8]},"
			 " {model: c, layer_range: [4, 8]}, {model: b, layer_range: [4, 8]}]\n");
	assert_false(rule_of(scene, "blk.0.ffn_up.weight", 0)->has_base);
	assert_true(rule_of(scene, "blk.4.ffn_up.weight", 4)->has_base);
	assert_int_equal(scene->rule.n, 2);
	assert_true(scene->sources[0] == 0 && scene->sources[1] == 2);
	configure(scene, "merge_method: slerp\nbase_model: a\nparameters: {t: 1}\nslices:\n"
			 "- base_model: b\n"
			 "  sources: [{model: a, layer_range: [4, 8]},"
			 " {model: b, layer_range: [4, 8]}]\n");
	rule_of(scene, "blk.0.ffn_up.weight", 0);
	assert_true(scene->sources[0] == 1 && scene->sources[1] == 0);
}

static void model_stock_is_of_the_tensor_or_of_rows(void **state)
{
	struct scene *scene = *state;

	configure(scene, "merge_method: model_stock\nmodels: [{model: a}, {model: b}]\n"
			 "base_model: c\nparameters: {filter_wise: true}\n");
	assert_int_equal(rule_of(scene, "output.weight", -1)->extent, MERGE_ROWS);
	configure(scene, "merge_method: model_stock\nmodels: [{model: a}, {model: b}]\n"
			 "base_model: c\nparameters: {filter_wise: false}\n");
	assert_int_equal(rule_of(scene, "output.weight", -1)->extent, MERGE_WHOLE);
}

static void karcher_merges_the_base_model_too(void **state)
{
	struct scene *scene = *state;

	configure(scene, "merge_method: karcher\nbase_model: c\nmodels: [{model: a}]\n");
	assert_int_equal(rule_of(scene, "output.weight", -1)->n, 2);
	assert_true(scene->sources[0] == 0 && scene->sources[1] == MERGE_CONFIG_NO_SOURCE);
	configure(scene, "merge_method: karcher\nbase_model: c\n"
			 "models: [{model: c}, {model: a}]\n");
	assert_int_equal(rule_of(scene, "output.weight", -1)->n, 2);
	assert_true(scene->sources[0] == 0 && scene->sources[1] == 1);
	configure(scene, "merge_method: karcher\nbase_model: c\n"
			 "slices: [{sources: [{model: a, layer_range: [0, 8]}]}]\n");
	assert_int_equal(rule_of(scene, "output.weight", -1)->n, 1);
}

static void nuslerp_is_of_the_tensor_or_of_rows_or_of_columns(void **state)
{
	struct scene *scene = *state;
	const struct merge_place place = { .slice = 0 };

	configure(scene, "merge_method: nuslerp\nmodels: [{model: a}, {model: b}]\n"
			 "parameters: {weight: 1, nuslerp_flatten: false}\n");
	assert_int_equal(rule_of(scene, "output.weight", -1)->extent, MERGE_ROWS);
	assert_false(scene->rule.has_base);
	configure(scene,
		  "merge_method: nuslerp\nmodels: [{model: a}, {model: b}]\nbase_model: c\n"
		  "parameters: {weight: 1, nuslerp_flatten: false, nuslerp_row_wise: true}\n");
	assert_int_equal(rule_of(scene, "output.weight", -1)->extent, MERGE_COLUMNS);
	assert_true(scene->rule.has_base);
	/* A norm is one vector. */
	assert_int_equal(merge_settings(&scene->config, &place, "output_norm.weight", 1, 8,
					&scene->rule, scene->sources, &scene->err),
			 0);
	assert_int_equal(scene->rule.extent, MERGE_ROWS);
}

UNIT_MAIN(begin, end)

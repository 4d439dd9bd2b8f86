/* SPDX-License-Identifier: MIT */
/* test_anatomy.c - gguf/anatomy.c: every known name by its row in tensor_classes.tsv, names of
 * other ecosystems, block numbers, and safe file names for hostile tensor names. */
#include "gguf/anatomy.h"
#include "gguf/names.h"
#include "tests/unit/unit.h"

static enum organ_class class_of(const char *name)
{
	return anatomy_class(name, strlen(name));
}

static enum organ_class class_called(const char *name)
{
	for (int class = 0; class < CLASSES; class ++)
		if (strcmp(class_name((enum organ_class) class), name) == 0)
			return (enum organ_class) class;
	fail_msg("no class is called %s", name);
	return CLASSES;
}

static void classes_have_the_names_of_the_directories(void **state)
{
	(void)state;
	assert_string_equal(class_name(CLASS_SKELETON), "skeleton");
	assert_string_equal(class_name(CLASS_ORGANS), "organs");
	assert_string_equal(class_name(CLASS_EMBED), "embed");
	assert_string_equal(class_name(CLASS_NORM), "norm");
	assert_string_equal(class_name(CLASS_ADAPTERS), "adapters");
	assert_string_equal(class_name(CLASS_OTHER), "other");
}

/* The pattern with its placeholders filled in. */
static void instantiate(const char *pattern, const char *number, char out[300])
{
	static const struct {
		const char *mark, *text;
	} marks[] = { { "{n}", NULL }, { "{s}", "anything" }, { "{base}", "blk.3.attn_q.weight" } };
	size_t n = 0;

	while (*pattern) {
		const char *text = NULL;

		for (size_t i = 0; !text && i < ARRAY_LENGTH(marks); i++) {
			if (strncmp(pattern, marks[i].mark, strlen(marks[i].mark)) != 0)
				continue;
			text = marks[i].text ? marks[i].text : number;
			pattern += strlen(marks[i].mark);
		}
		if (text)
			n += (size_t)snprintf(out + n, 300 - n, "%s", text);
		else
			out[n++] = *pattern++;
	}
	out[n] = '\0';
}

static void check_row(const char *pattern, const char *class)
{
	static const char *const endings[] = { "",	 ".weight",	 ".bias",
					       ".scale", ".input_scale", ".scales" };
	static const char *const numbers[] = { "0", "7", "31", "511" };
	const bool ending = strncmp(pattern, "{base}", 6) == 0;
	char name[300];

	for (size_t i = 0; i < ARRAY_LENGTH(numbers); i++) {
		for (size_t j = 0; j < (ending ? 1 : ARRAY_LENGTH(endings)); j++) {
			instantiate(pattern, numbers[i], name);
			strcat(name, endings[j]);
			if (class_of(name) != class_called(class))
				fail_msg("%s is %s, not %s", name, class_name(class_of(name)),
					 class);
		}
	}
}

static void every_row_of_the_table_has_its_class(void **state)
{
	FILE *table = fopen("gguf/tensor_classes.tsv", "r");
	char line[300], pattern[200], class[50];
	unsigned rows = 0;

	(void)state;
	assert_non_null(table);
	assert_non_null(fgets(line, sizeof(line), table));
	while (fgets(line, sizeof(line), table)) {
		assert_int_equal(sscanf(line, "%199[^\t]\t%49[a-z]", pattern, class), 2);
		check_row(pattern, class);
		rows++;
	}
	fclose(table);
	assert_int_equal(rows, 653);
}

static void names_of_other_ecosystems_are_classed_by_their_words(void **state)
{
	static const struct {
		const char *name;
		enum organ_class class;
	} cases[] = {
		{ "model.layers.0.self_attn.q_proj.weight", CLASS_SKELETON },
		{ "model.layers.0.mlp.down_proj.weight", CLASS_ORGANS },
		{ "model.layers.0.input_layernorm.weight", CLASS_NORM },
		{ "model.layers.0.self_attn.q_norm.weight", CLASS_NORM },
		{ "model.embed_tokens.weight", CLASS_EMBED },
		{ "lm_head.weight", CLASS_EMBED },
		{ "transformer.wte.weight", CLASS_EMBED },
		{ "transformer.h.0.ln_1.weight", CLASS_NORM },
		{ "base_model.model.q_proj.lora_A.weight", CLASS_ADAPTERS },
		{ "down_blocks.0.attentions.1.to_q.weight", CLASS_SKELETON },
		{ "block_sparse_moe.experts.3.w1.weight", CLASS_ORGANS },
		{ "mix.gates.3", CLASS_ORGANS },
		{ "mix.subexperts.3", CLASS_ORGANS },
		{ "mix.gmlp.3", CLASS_ORGANS },
		{ "mix.ff.3", CLASS_ORGANS },
		{ "mix.puff.3", CLASS_OTHER },
		{ "mix.conv1d.3", CLASS_SKELETON },
		{ "mix.mixer.3", CLASS_SKELETON },
		{ "mix.remixer.3", CLASS_OTHER },
		{ "mix.ssm.3", CLASS_SKELETON },
		{ "mix.ssmx.3", CLASS_OTHER },
		{ "mix.attentions.3", CLASS_SKELETON },
		{ "mix.xattn.3", CLASS_SKELETON },
		{ "mix.layernorms.3", CLASS_NORM },
		{ "mix.bn.3", CLASS_NORM },
		{ "mix.bns.3", CLASS_OTHER },
		{ "mix.fln.3", CLASS_OTHER },
		{ "mix.wpe.3", CLASS_EMBED },
		{ "mix.wpes.3", CLASS_OTHER },
		{ "mix.tok_embd2", CLASS_EMBED },
		{ "mix.embeddings", CLASS_EMBED },
		{ "mix.lora_a", CLASS_ADAPTERS },
		{ "mix.model.3", CLASS_OTHER },
		{ "mix.mod.3", CLASS_SKELETON },
		{ "blk.5.ffn_of_the_future.weight", CLASS_ORGANS },
		{ "blk.5.attn_of_the_future.weight", CLASS_SKELETON },
		{ "nothing.known", CLASS_OTHER },
		{ "", CLASS_OTHER },
		{ ".", CLASS_OTHER },
		{ ".weight", CLASS_OTHER },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++)
		if (class_of(cases[i].name) != cases[i].class)
			fail_msg("%s is %s", cases[i].name, class_name(class_of(cases[i].name)));
}

static void names_of_2026_are_classed_with_and_without_a_block(void **state)
{
	static const struct {
		const char *name;
		enum organ_class class;
	} cases[] = {
		{ "output_hc_down", CLASS_EMBED },
		{ "output_hc_up", CLASS_EMBED },
		{ "output_res_score", CLASS_EMBED },
		{ "nextn.hc_head_down", CLASS_EMBED },
		{ "nextn.hc_head_up", CLASS_EMBED },
		{ "nextn.hc_head_norm", CLASS_NORM },
		{ "selector_q_proj", CLASS_EMBED },
		{ "selector_norm", CLASS_NORM },
		{ "lilicorr.out", CLASS_EMBED },
		{ "lilicorr.attn.0.q_proj", CLASS_EMBED },
		{ "exp_probs_b_vl", CLASS_ORGANS },
		{ "ffn_conv_base", CLASS_ORGANS },
		{ "ffn_conv_proj", CLASS_ORGANS },
		{ "attn_conv_base", CLASS_SKELETON },
		{ "engram_k", CLASS_SKELETON },
		{ "engram_q", CLASS_SKELETON },
		{ "engram_wkv", CLASS_SKELETON },
		{ "engram_kv", CLASS_SKELETON },
		{ "engram_k_norm", CLASS_NORM },
		{ "engram_embd", CLASS_EMBED },
		{ "ple_key", CLASS_EMBED },
		{ "ple_value", CLASS_EMBED },
		{ "ple_conv1d", CLASS_EMBED },
		{ "ple_norm_key", CLASS_NORM },
		{ "hrm.z_l_init", CLASS_EMBED },
		{ "a.seanet.conv_in", CLASS_OTHER },
		{ "a.gen.flow.time.0.up", CLASS_OTHER },
		{ "a.gen.flow.cond_embd", CLASS_OTHER },
		{ "a.gen.wav.seanet.blk.1.res_conv1", CLASS_OTHER },
		{ "a.gen.code.blk.3.attn_q", CLASS_SKELETON },
	};
	static const char *const endings[] = { "", ".weight", ".bias" };
	char name[64];

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		const bool outside = strncmp(cases[i].name, "a.", 2) == 0 ||
				     strncmp(cases[i].name, "hrm.", 4) == 0;
		const size_t n = (outside ? 1 : 2) * ARRAY_LENGTH(endings);

		for (size_t k = 0; k < n; k++) {
			snprintf(name, sizeof(name), "%s%s%s",
				 k < ARRAY_LENGTH(endings) ? "" : "blk.7.", cases[i].name,
				 endings[k % ARRAY_LENGTH(endings)]);
			if (class_of(name) != cases[i].class)
				fail_msg("%s is %s", name, class_name(class_of(name)));
		}
	}
	assert_true(anatomy_by_expert("blk.7.exp_probs_b_vl.bias", 25));
}

static void names_of_diffusion_models_are_classed(void **state)
{
	static const struct {
		enum organ_class class;
		const char *name;
	} cases[] = {
		{ CLASS_EMBED, "img_in.weight" },
		{ CLASS_EMBED, "time_in.in_layer.bias" },
		{ CLASS_EMBED, "vector_in.out_layer.weight" },
		{ CLASS_EMBED, "final_layer.adaLN_modulation.1.weight" },
		{ CLASS_EMBED, "t_embedder.mlp.0.weight" },
		{ CLASS_EMBED, "txt_in.individual_token_refiner.blocks.1.self_attn_qkv.weight" },
		{ CLASS_EMBED, "img_emb.proj.1.weight" },
		{ CLASS_EMBED, "head.head.weight" },
		{ CLASS_EMBED, "head.modulation" },
		{ CLASS_EMBED, "proj_out.weight" },
		{ CLASS_EMBED, "caption_projection.linear_2.weight" },
		{ CLASS_SKELETON, "double_blocks.0.img_attn.qkv.weight" },
		{ CLASS_SKELETON, "double_blocks.0.img_mod.lin.weight" },
		{ CLASS_SKELETON, "single_blocks.0.modulation.lin.bias" },
		{ CLASS_SKELETON, "joint_blocks.0.x_block.adaLN_modulation.1.weight" },
		{ CLASS_SKELETON, "blocks.0.adaln_modulation_mlp.1.weight" },
		{ CLASS_SKELETON, "blocks.0.modulation" },
		{ CLASS_SKELETON, "transformer_blocks.0.scale_shift_table" },
		{ CLASS_SKELETON, "layers.0.attention.out.weight" },
		{ CLASS_ORGANS, "single_blocks.37.linear1.weight" },
		{ CLASS_ORGANS, "single_blocks.37.linear2.bias" },
		{ CLASS_ORGANS, "single_transformer_blocks.3.proj_out.weight" },
		{ CLASS_ORGANS, "single_transformer_blocks.3.proj_mlp.weight" },
		{ CLASS_ORGANS, "double_blocks.0.txt_mlp.2.weight" },
		{ CLASS_ORGANS, "joint_blocks.0.context_block.mlp.fc1.weight" },
		{ CLASS_ORGANS, "transformer_blocks.0.ff.net.0.proj.weight" },
		{ CLASS_ORGANS, "layers.0.feed_forward.w2.weight" },
		{ CLASS_ORGANS, "input_blocks.1.0.in_layers.2.weight" },
		{ CLASS_ORGANS, "output_blocks.1.0.out_layers.3.weight" },
		{ CLASS_NORM, "double_blocks.0.img_attn.norm.query_norm.scale" },
		{ CLASS_NORM, "joint_blocks.0.x_block.attn.ln_q.weight" },
		{ CLASS_NORM, "layers.0.ffn_norm2.weight" },
		{ CLASS_NORM, "txt_norm.weight" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++)
		if (class_of(cases[i].name) != cases[i].class)
			fail_msg("%s is %s", cases[i].name, class_name(class_of(cases[i].name)));
	assert_true(anatomy_known("layers.0.new", 12));
	assert_false(anatomy_known("layers.new", 10));
	assert_int_equal(anatomy_block_kind("blk.0.x", 7), 0);
	assert_int_equal(anatomy_block_kind("v.blk.0.x", 9), -1);
	assert_true(anatomy_block_kind("layers.0.x", 10) > 0);
}

static void adapter_tensors_come_first(void **state)
{
	(void)state;
	assert_int_equal(class_of("blk.0.attn_norm.weight.lora_a"), CLASS_ADAPTERS);
	assert_int_equal(class_of("token_embd.weight.lora_b"), CLASS_ADAPTERS);
	assert_int_equal(class_of("blk.0.attn_q.weight.in_sum2"), CLASS_OTHER);
}

static void names_of_any_length_and_bytes_have_a_class(void **state)
{
	char *name = calloc(1, 5000);

	(void)state;
	assert_non_null(name);
	for (size_t n = 0; n < 5000; n += n < 300 ? 1 : 97) {
		uint8_t *exact;

		memset(name, n % 3 ? '7' : '.', n);
		exact = mk_copy(name, n);
		assert_true(anatomy_class((char *)exact, n) < CLASSES);
		assert_int_equal(anatomy_block((char *)exact, n), -1);
		free(exact);
	}
	assert_int_equal(anatomy_class("blk.0.attn_q\0.weight", 20), CLASS_SKELETON);
	free(name);
}

static void blocks_are_plain_decimal_numbers(void **state)
{
	static const struct {
		const char *name;
		int32_t block;
	} cases[] = {
		{ "blk.0.attn_q.weight", 0 },
		{ "blk.31.ffn_up.weight", 31 },
		{ "blk.2147483647.x", INT32_MAX },
		{ "dec.blk.4.attn_q.weight", 4 },
		{ "v.blk.5.ln1.weight", 5 },
		{ "a.gen.wav.tfm.blk.6.attn_out.weight", 6 },
		{ "a.seanet.blk.1.res_conv1.weight", -1 },
		{ "a.gen.flow.blk.2.up.weight", -1 },
		{ "double_blocks.18.img_attn.qkv.weight", 18 },
		{ "blocks.0.modulation", 0 },
		{ "layers.01.x", -1 },
		{ "layers.1", -1 },
		{ "model.layers.1.x", -1 },
		{ "txt_in.individual_token_refiner.blocks.1.x", -1 },
		{ "blk.2147483648.x", -1 },
		{ "blk.4294967296.x", -1 },
		{ "blk.99999999999999999999.x", -1 },
		{ "blk.18446744073709551616.x", -1 },
		{ "blk.01.x", -1 },
		{ "blk.00.x", -1 },
		{ "blk.+1.x", -1 },
		{ "blk.-1.x", -1 },
		{ "blk. 1.x", -1 },
		{ "blk.1", -1 },
		{ "blk.1x.y", -1 },
		{ "blk..x", -1 },
		{ "blk.", -1 },
		{ "blk", -1 },
		{ "xblk.1.y", -1 },
		{ "output.weight", -1 },
		{ "", -1 },
		{ "...", -1 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		const size_t n = strlen(cases[i].name);
		uint8_t *exact = mk_copy(cases[i].name, n);

		if (anatomy_block((char *)exact, n) != cases[i].block)
			fail_msg("%s", cases[i].name);
		free(exact);
	}
}

static void a_tensor_has_the_kind_that_its_name_says(void **state)
{
	static const struct {
		const char *name;
		enum tensor_kind kind;
	} cases[] = {
		{ "blk.0.attn_q.weight", KIND_ATTENTION },
		{ "blk.0.attn_q.bias", KIND_ATTENTION },
		{ "blk.0.ssm_in.weight", KIND_ATTENTION },
		{ "blk.0.ffn_up.weight", KIND_DENSE },
		{ "blk.0.ffn_gate.bias", KIND_DENSE },
		{ "model.layers.0.mlp.down_proj.weight", KIND_DENSE },
		{ "blk.0.ffn_up_exps.weight", KIND_EXPERTS },
		{ "blk.0.ffn_gate_up_exps.weight", KIND_EXPERTS },
		{ "blk.0.ffn_down_chexps.weight", KIND_EXPERTS },
		{ "blk.0.ffn_up.3.weight", KIND_EXPERTS },
		{ "block_sparse_moe.experts.3.w1.weight", KIND_EXPERTS },
		{ "blk.0.ffn_up_shexp.weight", KIND_SHARED },
		{ "blk.0.ffn_gate_inp.weight", KIND_OTHER },
		{ "blk.0.ffn_gate_inp_shexp.weight", KIND_OTHER },
		{ "blk.0.exp_probs_b.bias", KIND_OTHER },
		{ "blk.0.attn_norm.weight", KIND_NORM },
		{ "blk.0.attn_q_norm.weight", KIND_NORM },
		{ "output_norm.weight", KIND_NORM },
		{ "token_embd.weight", KIND_EMBEDDING },
		{ "output.weight", KIND_EMBEDDING },
		{ "rope_freqs.weight", KIND_OTHER },
		{ "rope_factors_long.weight", KIND_OTHER },
		{ "blk.0.attn_q.weight.lora_a", KIND_OTHER },
		{ "nothing.known", KIND_OTHER },
		{ "", KIND_OTHER },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		const size_t n = strlen(cases[i].name);
		uint8_t *exact = mk_copy(cases[i].name, n);

		if (anatomy_kind((char *)exact, n) != cases[i].kind)
			fail_msg("%s", cases[i].name);
		free(exact);
	}
}

static void a_role_is_the_name_without_its_block(void **state)
{
	static const struct {
		const char *name, *role;
	} cases[] = {
		{ "blk.31.ffn_up.weight", "ffn_up" },
		{ "blk.3.attn_q.bias", "attn_q_bias" },
		{ "blk.3.ffn_up.5.weight", "ffn_up_5" },
		{ "v.blk.5.ln1.weight", "v_ln1" },
		{ "double_blocks.3.img_mlp.0.weight", "img_mlp_0" },
		{ "single_blocks.3.linear1.weight", "single_blocks_linear1" },
		{ "output.weight", "output" },
		{ "blk.x.y", "blk_x_y" },
		{ "blk.3.", "%" },
		{ "blk.3.a/b", "a%2Fb" },
	};
	char name[5000], out[ANATOMY_NAME_MAX + 1];

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		const size_t n = strlen(cases[i].name);
		uint8_t *exact = mk_copy(cases[i].name, n);

		anatomy_role((char *)exact, n, out);
		assert_string_equal(out, cases[i].role);
		free(exact);
	}
	memset(name, 'x', sizeof(name));
	memcpy(name, "blk.3.", 6);
	for (size_t n = 0; n < sizeof(name); n += n < 300 ? 1 : 97) {
		anatomy_role(name, n, out);
		assert_between(strlen(out), 1, ANATOMY_NAME_MAX);
	}
}

static void an_added_tensor_has_its_block_from_the_file(void **state)
{
	static const struct {
		const char *tensor, *name;
		enum organ_class klass;
		const char *added;
	} cases[] = {
		{ "blk.5.ffn_up.weight", "blk_32_ffn_up", CLASS_ORGANS, "blk.32.ffn_up.weight" },
		{ "blk.5.ffn_up.weight", "blk_5_ffn_up", CLASS_ORGANS, "blk.5.ffn_up.weight" },
		{ "blk.5.attn_q.bias", "blk_0_attn_q_bias", CLASS_SKELETON, "blk.0.attn_q.bias" },
		{ "v.blk.5.ln1.weight", "v_blk_6_ln1", CLASS_NORM, "v.blk.6.ln1.weight" },
		{ "layers.5.feed_forward.w1.weight", "layers_16_feed_forward_w1", CLASS_ORGANS,
		  "layers.16.feed_forward.w1.weight" },
		{ "layers.5.feed_forward.w1.weight", "blocks_6_feed_forward_w1", CLASS_ORGANS, "" },
		{ "rope_freqs.weight", "rope_freqs", CLASS_EMBED, "rope_freqs.weight" },
		{ "blk.5.ffn_up.weight", "blk.7.ffn_up.weight", CLASS_ORGANS,
		  "blk.7.ffn_up.weight" },
		{ "blk.5.ffn_up.weight", "blk_5_ffn_up", CLASS_NORM, "" },
		{ "blk.5.ffn_up.weight", "blk_5_ffn_down", CLASS_ORGANS, "" },
		{ "blk.5.ffn_up.weight", "blk_05_ffn_up", CLASS_ORGANS, "" },
		{ "blk.5.ffn_up.weight", "blk_99999999999_ffn_up", CLASS_ORGANS, "" },
		{ "blk.5.ffn_up.weight", "blk__ffn_up", CLASS_ORGANS, "" },
		{ "blk.5.ffn_up.weight", "b", CLASS_ORGANS, "" },
		{ "blk.5.ffn_up.weight", "", CLASS_ORGANS, "" },
		{ "", "blk_5_ffn_up", CLASS_ORGANS, "" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		char out[64] = "";
		const size_t n = anatomy_added(cases[i].tensor, strlen(cases[i].tensor),
					       cases[i].name, cases[i].klass, out, sizeof(out));

		assert_int_equal(n, strlen(cases[i].added));
		if (n)
			assert_string_equal(out, cases[i].added);
	}
}

static void assert_file_name(const char *name, size_t length, enum anatomy_form form,
			     const char *expected)
{
	char out[ANATOMY_NAME_MAX + 1];
	uint8_t *exact = mk_copy(name, length);

	anatomy_file_name((char *)exact, length, form, out);
	assert_string_equal(out, expected);
	free(exact);
}

static void file_names_encode_special_bytes(void **state)
{
	static const struct {
		const char *name, *shorter, *exact;
	} cases[] = {
		{ "blk.0.ffn_gate.weight", "blk_0_ffn_gate", "blk.0.ffn_gate.weight" },
		{ "blk.0.attn_q.bias", "blk_0_attn_q_bias", "blk.0.attn_q.bias" },
		{ "output.weight.weight", "output_weight", "output.weight.weight" },
		{ "weight", "weight", "weight" },
		{ ".weight", "%", "%2Eweight" },
		{ "", "%", "%" },
		{ ".", "_", "%2E" },
		{ "..", "__", "%2E." },
		{ ".hidden", "_hidden", "%2Ehidden" },
		{ "/etc/passwd", "%2Fetc%2Fpasswd", "%2Fetc%2Fpasswd" },
		{ "../../x", "__%2F__%2Fx", "%2E.%2F..%2Fx" },
		{ "a\\b c:d", "a%5Cb%20c%3Ad", "a%5Cb%20c%3Ad" },
		{ "100%", "100%25", "100%25" },
		{ "~", "%7E", "%7E" },
		{ "line\nbreak\x7f", "line%0Abreak%7F", "line%0Abreak%7F" },
		{ "\xc3\xa4\xff", "%C3%A4%FF", "%C3%A4%FF" },
		{ "a-b+c_D9", "a-b+c_D9", "a-b+c_D9" },
		{ ".assemble", "_assemble", "%2Eassemble" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		const size_t n = strlen(cases[i].name);

		assert_file_name(cases[i].name, n, NAME_SHORT, cases[i].shorter);
		assert_file_name(cases[i].name, n, NAME_EXACT, cases[i].exact);
	}
}

static void a_nul_in_a_name_does_not_end_it(void **state)
{
	(void)state;
	assert_file_name("a\0b", 3, NAME_EXACT, "a%00b");
	assert_file_name("a\0b", 3, NAME_SHORT, "a%00b");
	assert_file_name("\0", 1, NAME_EXACT, "%00");
}

static void short_names_of_two_tensors_may_meet(void **state)
{
	(void)state;
	assert_file_name("a.b", 3, NAME_SHORT, "a_b");
	assert_file_name("a_b", 3, NAME_SHORT, "a_b");
	assert_file_name("a.b.weight", 10, NAME_SHORT, "a_b");
}

static void assert_safe(const char *out)
{
	const size_t n = strlen(out);

	assert_true(n > 0 && n <= ANATOMY_NAME_MAX);
	assert_int_not_equal(out[0], '.');
	for (size_t i = 0; i < n; i++)
		if (!strchr("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-+.%~",
			    out[i]))
			fail_msg("byte %d in %s", out[i], out);
}

static void names_of_every_length_give_safe_file_names(void **state)
{
	static const char fillings[] = { 'x', '.', ' ', '/', '\0', (char)0xff };
	char name[700], out[ANATOMY_NAME_MAX + 1];

	(void)state;
	for (size_t i = 0; i < sizeof(fillings); i++) {
		memset(name, fillings[i], sizeof(name));
		for (size_t n = 0; n <= sizeof(name); n++) {
			anatomy_file_name(name, n, NAME_EXACT, out);
			assert_safe(out);
			anatomy_file_name(name, n, NAME_SHORT, out);
			assert_safe(out);
		}
	}
}

static void long_names_that_differ_at_their_end_stay_apart(void **state)
{
	static const size_t lengths[] = { 201, 255, 256, 300, 5000, 65535 };
	char one[ANATOMY_NAME_MAX + 1], other[ANATOMY_NAME_MAX + 1];
	char *name = malloc(65535);

	(void)state;
	assert_non_null(name);
	memset(name, 'x', 65535);
	for (size_t i = 0; i < ARRAY_LENGTH(lengths); i++) {
		anatomy_file_name(name, lengths[i], NAME_EXACT, one);
		name[lengths[i] - 1] = 'y';
		anatomy_file_name(name, lengths[i], NAME_EXACT, other);
		name[lengths[i] - 1] = 'x';
		assert_safe(one);
		assert_non_null(strchr(one, '~'));
		assert_int_equal(strncmp(one, name, 160), 0);
		assert_string_not_equal(one, other);
	}
	free(name);
}

/* Name number n over the bytes that the encoding treats differently. */
static size_t nth_name(uint32_t number, char out[8])
{
	static const char letters[] = { 'a', '.', '_', '%', '/', '~', '2', 'E', '\0', ' ' };
	size_t n = 0;

	while (number) {
		out[n++] = letters[(number - 1) % sizeof(letters)];
		number = (number - 1) / sizeof(letters);
	}
	return n;
}

static void no_two_short_names_give_the_same_exact_file_name(void **state)
{
	enum { NAMES = 1 + 10 + 100 + 1000 + 10000 };
	char(*outs)[ANATOMY_NAME_MAX + 1] = malloc(NAMES * sizeof(*outs));
	struct names *seen = names_new(NAMES);

	(void)state;
	assert_non_null(outs);
	for (uint32_t i = 0; i < NAMES; i++) {
		char name[8];
		const size_t n = nth_name(i, name);

		anatomy_file_name(name, n, NAME_EXACT, outs[i]);
		assert_safe(outs[i]);
		if (names_add(seen, outs[i], strlen(outs[i]), i) < 0)
			fail_msg("name %u gives %s, which another gives too", i, outs[i]);
	}
	names_free(seen);
	free(outs);
}

static uint32_t next_random(uint64_t *seed)
{
	*seed = *seed * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)(*seed >> 33);
}

/* Long names with a common beginning, many of which are cut at the same place. */
static void no_two_random_names_give_the_same_exact_file_name(void **state)
{
	enum { NAMES = 4000, LONGEST = 260 };
	char(*names)[LONGEST] = malloc(NAMES * sizeof(*names));
	char(*outs)[ANATOMY_NAME_MAX + 1] = malloc(NAMES * sizeof(*outs));
	struct names *seen = names_new(NAMES), *seen_outs = names_new(NAMES);
	uint64_t seed = 1;

	(void)state;
	assert_true(names && outs);
	for (uint32_t i = 0; i < NAMES; i++) {
		const size_t n = next_random(&seed) % LONGEST;

		memset(names[i], i % 3 ? 'w' : '/', LONGEST);
		for (int edits = 0; n && edits < 3; edits++)
			names[i][n - 1 - next_random(&seed) % (n < 6 ? n : 6)] =
				(char)next_random(&seed);
		if (names_add(seen, names[i], n, i) < 0)
			continue;
		anatomy_file_name(names[i], n, NAME_EXACT, outs[i]);
		assert_safe(outs[i]);
		if (names_add(seen_outs, outs[i], strlen(outs[i]), i) < 0)
			fail_msg("%s", outs[i]);
	}
	names_free(seen);
	names_free(seen_outs);
	free(names);
	free(outs);
}

static void tensors_of_experts_have_a_slice_for_each(void **state)
{
	static const char *const by_expert[] = {
		"blk.0.ffn_up_exps.weight",   "blk.12.ffn_gate_up_exps.weight",
		"blk.0.ffn_down_exps.bias",   "blk.0.ffn_up_exps.scale",
		"blk.3.ffn_gate_inp.weight",  "blk.3.ffn_gate_inp.bias",
		"blk.3.exp_probs_b.bias",     "blk.3.exp_probs_b",
		"blk.7.ffn_up_chexps.weight",
	};
	static const char *const others[] = {
		"blk.0.ffn_up.weight",
		"blk.0.ffn_up_shexp.weight",
		"blk.0.ffn_norm_exps.weight",
		"blk.0.ffn_gate_inp_shexp.weight",
		"blk.0.ffn_up.3.weight",
		"blk.0.ffn_up_exps.weight.lora_a",
		"blk.0.exps",
		"",
		".weight",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(by_expert); i++)
		if (!anatomy_by_expert(by_expert[i], strlen(by_expert[i])))
			fail_msg("%s", by_expert[i]);
	for (size_t i = 0; i < ARRAY_LENGTH(others); i++)
		if (anatomy_by_expert(others[i], strlen(others[i])))
			fail_msg("%s", others[i]);
}

static void a_class_is_found_by_its_whole_name(void **state)
{
	enum organ_class klass;

	(void)state;
	for (enum organ_class is = 0; is < CLASSES; is++) {
		assert_true(class_find(class_name(is), strlen(class_name(is)), &klass));
		assert_int_equal(klass, is);
		assert_false(class_find(class_name(is), strlen(class_name(is)) - 1, &klass));
	}
	assert_false(class_find("organs/", 7, &klass));
	assert_false(class_find("", 0, &klass));
	assert_int_equal(klass, CLASSES);
}

UNIT_MAIN(NULL, NULL)

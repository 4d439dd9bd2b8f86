/* SPDX-License-Identifier: MIT */
/* test_block_names.c - fs/model/block_names.c: names in blocks/N, and their classes. */
#include "fs/model/block_names.h"
#include "fs/model/slots.h"
#include "gguf/reader.h"
#include "tests/unit/open_model.h"
#include "tests/unit/temp_dir.h"
#include "tests/unit/unit.h"

static const char *name_of(const char *name, int32_t block)
{
	const struct organ_place place = { .name = name, .block = block };

	return block_name(&place);
}

static void only_plain_blocks_have_names(void **state)
{
	(void)state;
	assert_string_equal(name_of("blk_12_attn_q_bias", 12), "attn_q_bias");
	assert_null(name_of("token_embd", -1));
	assert_null(name_of("enc_blk_3_ffn_up", 3));
	assert_null(name_of("single_blocks_3_linear1", 3));
	assert_null(name_of("blk.3.ffn_up.weight", 3));
	assert_string_equal(name_of("blk_524286_ffn_up", 524286), "ffn_up");
	assert_null(name_of("blk_524287_ffn_up", 524287));
	assert_null(name_of("blk_2147483647_ffn_up", 2147483647));
}

static void assert_class_name(struct model *model, const char *file, enum organ_class klass,
			      const char *expected)
{
	char name[NAME_MAX + 1];
	enum organ_class found;

	assert_true(block_class_name(model, 7, file, &found, name));
	assert_string_equal(name, expected);
	assert_int_equal(found, klass);
}

static void names_in_a_block_are_names_in_a_class(void **state)
{
	struct opened o = open_small(state, "m.gguf");
	char longest[NAME_MAX + 1], name[NAME_MAX + 1];
	enum organ_class klass;

	assert_class_name(o.model, "ffn_up.bin", CLASS_ORGANS, "blk_7_ffn_up.bin");
	assert_class_name(o.model, "ffn_up.theta", CLASS_ORGANS, "blk_7_ffn_up.theta");
	assert_class_name(o.model, "attn_q.bin", CLASS_SKELETON, "blk_7_attn_q.bin");
	assert_class_name(o.model, "attn_q_bias.bin", CLASS_SKELETON, "blk_7_attn_q_bias.bin");
	assert_class_name(o.model, "nextn_eh_proj.bin", CLASS_EMBED, "blk_7_nextn_eh_proj.bin");
	assert_class_name(o.model, "nextn_hnorm.bin", CLASS_NORM, "blk_7_nextn_hnorm.bin");
	assert_class_name(o.model, "attn_norm.bin", CLASS_NORM, "blk_7_attn_norm.bin");
	assert_class_name(o.model, "ffn_gate_inp.bin", CLASS_ORGANS, "blk_7_ffn_gate_inp.bin");
	assert_class_name(o.model, ".ffn_up.bin.Ab12Cd", CLASS_OTHER, ".blk_7_ffn_up.bin.Ab12Cd");
	assert_class_name(o.model, "notes.txt", CLASS_OTHER, "blk_7_notes.txt");
	assert_class_name(o.model, ".bin", CLASS_OTHER, ".blk_7_bin");
	memset(longest, 'x', NAME_MAX);
	longest[NAME_MAX] = '\0';
	assert_false(block_class_name(o.model, 7, longest, &klass, name));
	close_model(&o);
}

static void blocks_that_hold_something_are_found(void **state)
{
	struct opened o = open_small(state, "m.gguf");
	const uint32_t n = block_count_of_base(o.model);

	assert_true(n > 0);
	assert_true(block_is_there(o.model, n - 1));
	assert_false(block_is_there(o.model, n));
	assert_int_equal(block_next(o.model, n), -1);
	for (uint32_t i = 0; i < slots_count(o.model->slots); i++)
		if (o.model->places[i].block == (int32_t)n - 1)
			slots_set(o.model->slots, i, content_new_whiteout());
	assert_false(block_is_there(o.model, n - 1));
	assert_int_equal(block_count_of_base(o.model), n);
	close_model(&o);
}

UNIT_MAIN(temp_setup, temp_teardown)

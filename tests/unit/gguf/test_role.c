/* SPDX-License-Identifier: MIT */
/* test_role.c - gguf/role.c. */
#include "tests/unit/unit.h"

#include "gguf/role.h"

#include <string.h>

static enum role_match match(const char *slot, const char *tensor)
{
	return role_match(slot, strlen(slot), tensor, strlen(tensor));
}

static void role_does_not_depend_on_block(void **state)
{
	(void)state;
	assert_int_equal(match("blk.1.ffn_up.weight", "blk.31.ffn_up.weight"), ROLE_SAME);
	assert_int_equal(match("blk.1.ffn_up.weight", "blk.1.ffn_up"), ROLE_SAME);
	assert_int_equal(match("output.weight", "output.weight"), ROLE_SAME);
	/* Unknown roles match by name. */
	assert_int_equal(match("blk.1.strange.weight", "blk.2.strange.weight"), ROLE_SAME);
	assert_int_equal(match("v.blk.1.ffn_up.weight", "v.blk.2.ffn_up.weight"), ROLE_SAME);
}

static void other_part_has_another_role(void **state)
{
	(void)state;
	assert_int_equal(match("blk.1.ffn_up.weight", "blk.1.ffn_gate.weight"), ROLE_OTHER);
	assert_int_equal(match("blk.1.ffn_up.weight", "blk.1.ffn_up.bias"), ROLE_OTHER);
	assert_int_equal(match("blk.1.attn_norm.weight", "blk.1.ffn_norm.weight"), ROLE_OTHER);
	assert_int_equal(match("blk.1.ffn_up.weight", "v.blk.1.ffn_up.weight"), ROLE_OTHER);
	assert_int_equal(match("blk.1.strange.weight", "blk.1.ffn_up.weight"), ROLE_OTHER);
}

static void tensors_with_equal_function_are_alike(void **state)
{
	(void)state;
	assert_int_equal(match("output.weight", "token_embd.weight"), ROLE_ALIKE);
	assert_int_equal(match("token_embd.weight", "output.weight"), ROLE_ALIKE);
	assert_int_equal(match("blk.1.ffn_norm.weight", "blk.2.post_attention_norm.weight"),
			 ROLE_ALIKE);
	assert_int_equal(match("blk.9.nextn.shared_head_head.weight", "output.weight"), ROLE_ALIKE);
	assert_int_equal(match("output.weight", "output_norm.weight"), ROLE_OTHER);
}

static void unknown_name_has_no_role(void **state)
{
	(void)state;
	assert_int_equal(match("blk.1.ffn_up.weight", "odd"), ROLE_UNNAMED);
	assert_int_equal(match("blk.1.ffn_up.weight", ""), ROLE_UNNAMED);
	assert_int_equal(role_match("output.weight", 13, "output\0weight", 13), ROLE_UNNAMED);
}

UNIT_MAIN(NULL, NULL)

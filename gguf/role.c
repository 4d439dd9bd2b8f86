/* SPDX-License-Identifier: MIT */
/* role.c - see role.h. */
#include "role.h"
#include "anatomy.h"

#include <stdbool.h>
#include <string.h>

/* Roles of tensors that compute the same from the same input. A head can be the embedding to which
 * it is often tied; Qwen names the norm before the feed-forward network after the preceding layer;
 * a shared expert is a network that every token passes. */
static const char *const alike[][2] = {
	{ "token_embd", "output" },
	{ "ffn_norm", "post_attention_norm" },
	{ "ffn_gate", "ffn_gate_shexp" },
	{ "ffn_up", "ffn_up_shexp" },
	{ "ffn_down", "ffn_down_shexp" },
	{ "nextn_embed_tokens", "token_embd" },
	{ "nextn_shared_head_head", "output" },
	{ "nextn_shared_head_norm", "output_norm" },
};

static bool are_alike(const char *a, const char *b)
{
	for (size_t i = 0; i < sizeof(alike) / sizeof(alike[0]); i++)
		if ((strcmp(a, alike[i][0]) == 0 && strcmp(b, alike[i][1]) == 0) ||
		    (strcmp(a, alike[i][1]) == 0 && strcmp(b, alike[i][0]) == 0))
			return true;
	return false;
}

enum role_match role_match(const char *slot, size_t slot_length, const char *tensor, size_t length)
{
	char ours[ANATOMY_NAME_MAX + 1], theirs[ANATOMY_NAME_MAX + 1];

	if (anatomy_same_role(slot, slot_length, tensor, length))
		return ROLE_SAME;
	if (!anatomy_known(tensor, length))
		return ROLE_UNNAMED;
	anatomy_role(slot, slot_length, ours);
	anatomy_role(tensor, length, theirs);
	return are_alike(ours, theirs) ? ROLE_ALIKE : ROLE_OTHER;
}

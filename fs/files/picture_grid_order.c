/* SPDX-License-Identifier: MIT */
/* picture_grid_order.c - the order of rows: as values flow through a block, whatever the file's is.
 * The names are those of llama.cpp (gguf-py, constants.py), without block and ".weight". */
#include "fs/files/picture_grid.h"

#include <string.h>

enum section {
	SECTION_INPUT,
	SECTION_ATTENTION,
	SECTION_FEED_FORWARD,
	SECTION_REST,
	SECTION_OUTPUT,
};

static const struct {
	const char *role;
	enum section section;
} order[] = {
	{ "token_embd", SECTION_INPUT },
	{ "token_types", SECTION_INPUT },
	{ "position_embd", SECTION_INPUT },
	{ "token_embd_norm", SECTION_INPUT },
	{ "per_layer_token_embd", SECTION_INPUT },
	{ "attn_norm", SECTION_ATTENTION },
	{ "attn_norm_2", SECTION_ATTENTION },
	{ "attn_qkv", SECTION_ATTENTION },
	{ "attn_q", SECTION_ATTENTION },
	{ "attn_q_a", SECTION_ATTENTION },
	{ "attn_q_a_norm", SECTION_ATTENTION },
	{ "attn_q_b", SECTION_ATTENTION },
	{ "attn_q_norm", SECTION_ATTENTION },
	{ "attn_k", SECTION_ATTENTION },
	{ "attn_kv_a_mqa", SECTION_ATTENTION },
	{ "attn_kv_a_norm", SECTION_ATTENTION },
	{ "attn_kv_b", SECTION_ATTENTION },
	{ "attn_k_b", SECTION_ATTENTION },
	{ "attn_k_norm", SECTION_ATTENTION },
	{ "attn_v", SECTION_ATTENTION },
	{ "attn_v_b", SECTION_ATTENTION },
	{ "attn_sinks", SECTION_ATTENTION },
	{ "attn_gate", SECTION_ATTENTION },
	{ "attn_output", SECTION_ATTENTION },
	{ "attn_output_norm", SECTION_ATTENTION },
	{ "post_attention_norm", SECTION_ATTENTION },
	{ "ffn_norm", SECTION_FEED_FORWARD },
	{ "ffn_gate_inp", SECTION_FEED_FORWARD },
	{ "exp_probs_b", SECTION_FEED_FORWARD },
	{ "ffn_gate", SECTION_FEED_FORWARD },
	{ "ffn_up", SECTION_FEED_FORWARD },
	{ "ffn_down", SECTION_FEED_FORWARD },
	{ "ffn_gate_exps", SECTION_FEED_FORWARD },
	{ "ffn_gate_up_exps", SECTION_FEED_FORWARD },
	{ "ffn_up_exps", SECTION_FEED_FORWARD },
	{ "ffn_down_exps", SECTION_FEED_FORWARD },
	{ "ffn_gate_inp_shexp", SECTION_FEED_FORWARD },
	{ "ffn_gate_shexp", SECTION_FEED_FORWARD },
	{ "ffn_up_shexp", SECTION_FEED_FORWARD },
	{ "ffn_down_shexp", SECTION_FEED_FORWARD },
	{ "post_ffw_norm", SECTION_FEED_FORWARD },
	{ "layer_output_norm", SECTION_FEED_FORWARD },
	{ "layer_output_scale", SECTION_FEED_FORWARD },
	{ "output_norm", SECTION_OUTPUT },
	{ "output", SECTION_OUTPUT },
};

#define UNKNOWN ((unsigned)(sizeof(order) / sizeof(order[0])))

/* Blocks of an encoder, a decoder, an eye and an ear: "enc.blk.0.attn_q" is of the role
 * "enc_attn_q". */
static const char *const towers[] = { "enc_", "dec_", "v_", "a_" };

static size_t tower_length(const char *role)
{
	for (size_t i = 0; i < sizeof(towers) / sizeof(towers[0]); i++)
		if (strncmp(role, towers[i], strlen(towers[i])) == 0)
			return strlen(towers[i]);
	return 0;
}

/* The length without "_bias" or the like. */
static size_t plain_length(const char *role)
{
	static const char *const extras[] = { "_bias", "_scale" };
	const size_t n = strlen(role);

	for (size_t i = 0; i < sizeof(extras) / sizeof(extras[0]); i++) {
		const size_t cut = strlen(extras[i]);

		if (n > cut && strcmp(role + n - cut, extras[i]) == 0)
			return n - cut;
	}
	return n;
}

static enum section section_of(const struct figure *figure, const char *role)
{
	switch (figure->klass) {
	case CLASS_SKELETON:
		return SECTION_ATTENTION;
	case CLASS_ORGANS:
		return SECTION_FEED_FORWARD;
	case CLASS_NORM:
		return strncmp(role, "ffn", 3) == 0 || strstr(role, "ffw") ? SECTION_FEED_FORWARD
									   : SECTION_ATTENTION;
	default:
		return SECTION_REST;
	}
}

/* The line of the table; UNKNOWN: there is none. */
static unsigned find_role(const char *role, size_t n)
{
	for (unsigned i = 0; i < UNKNOWN; i++)
		if (strncmp(role, order[i].role, n) == 0 && !order[i].role[n])
			return i;
	return UNKNOWN;
}

struct picture_grid_rank picture_grid_rank_of(const struct figure *figure)
{
	const char *role = figure->role + tower_length(figure->role);
	const size_t n = plain_length(role);
	struct picture_grid_rank rank = { .role = figure->role, .klass = figure->klass };

	/* "layer_output_scale" is no scale of another tensor. */
	rank.place = find_role(role, strlen(role));
	if (rank.place == UNKNOWN && role[n]) {
		rank.place = find_role(role, n);
		rank.extra = true;
	}
	rank.section = rank.place == UNKNOWN ? section_of(figure, role) : order[rank.place].section;
	return rank;
}

#define COMPARE(a, b) (((a) > (b)) - ((a) < (b)))

int picture_grid_compare_ranks(const struct picture_grid_rank *a, const struct picture_grid_rank *b)
{
	int rc = COMPARE(a->section, b->section);

	if (!rc)
		rc = COMPARE(a->place, b->place);
	if (!rc && a->place != UNKNOWN)
		rc = COMPARE(a->extra, b->extra);
	/* "blocks_10" comes after "blocks_9". */
	if (!rc)
		rc = strverscmp(a->role, b->role);
	return rc ? rc : COMPARE(a->klass, b->klass);
}

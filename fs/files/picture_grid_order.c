/* SPDX-License-Identifier: MIT */
/* picture_grid_order.c - the order of rows: that of the data flow through a block, not that of the
 * file. The names are those of llama.cpp (gguf-py, constants.py), without block and ".weight". */
#include "fs/files/picture_grid.h"

#include <string.h>

enum section {
	SECTION_INPUT,
	SECTION_ATTENTION,
	SECTION_FEED_FORWARD,
	SECTION_REST,
	SECTION_OUTPUT,
	SECTIONS,
};

/* The most roles of a section; also the place of an unknown role. */
#define UNKNOWN 21

static const char *const order[SECTIONS][UNKNOWN] = {
	[SECTION_INPUT] = { "token_embd", "token_types", "position_embd", "token_embd_norm",
			    "per_layer_token_embd" },
	[SECTION_ATTENTION] = { "attn_norm",	 "attn_norm_2",	     "attn_qkv",
				"attn_q",	 "attn_q_a",	     "attn_q_a_norm",
				"attn_q_b",	 "attn_q_norm",	     "attn_k",
				"attn_kv_a_mqa", "attn_kv_a_norm",   "attn_kv_b",
				"attn_k_b",	 "attn_k_norm",	     "attn_v",
				"attn_v_b",	 "attn_sinks",	     "attn_gate",
				"attn_output",	 "attn_output_norm", "post_attention_norm" },
	[SECTION_FEED_FORWARD] = { "ffn_norm", "ffn_gate_inp", "exp_probs_b", "ffn_gate", "ffn_up",
				   "ffn_down", "ffn_gate_exps", "ffn_gate_up_exps", "ffn_up_exps",
				   "ffn_down_exps", "ffn_gate_inp_shexp", "ffn_gate_shexp",
				   "ffn_up_shexp", "ffn_down_shexp", "post_ffw_norm",
				   "layer_output_norm", "layer_output_scale" },
	[SECTION_OUTPUT] = { "output_norm", "output" },
};

/* Prefixes of encoder, decoder, vision and audio: the role of "enc.blk.0.attn_q" is
 * "enc_attn_q". */
static const char *const towers[] = { "enc_", "dec_", "v_", "a_" };

static size_t tower_length(const char *role)
{
	for (size_t i = 0; i < sizeof(towers) / sizeof(towers[0]); i++)
		if (strncmp(role, towers[i], strlen(towers[i])) == 0)
			return strlen(towers[i]);
	return 0;
}

/* Length of the role without "_bias" or the like. */
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

/* Find the section and place of a role. False: it is not in the table. */
static bool find_role(const char *role, size_t n, struct picture_grid_rank *rank)
{
	for (rank->section = 0; rank->section < SECTIONS; rank->section++)
		for (rank->place = 0; rank->place < UNKNOWN; rank->place++) {
			const char *known = order[rank->section][rank->place];

			if (known && strncmp(role, known, n) == 0 && !known[n])
				return true;
		}
	return false;
}

struct picture_grid_rank picture_grid_rank_of(const struct figure *figure)
{
	const char *role = figure->role + tower_length(figure->role);
	const size_t n = plain_length(role);
	struct picture_grid_rank rank = { .role = figure->role, .klass = figure->klass };

	/* "layer_output_scale" is not the scale of another tensor. */
	if (find_role(role, strlen(role), &rank))
		return rank;
	rank.extra = role[n] != '\0';
	if (!rank.extra || !find_role(role, n, &rank))
		rank.section = section_of(figure, role);
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

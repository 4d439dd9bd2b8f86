/* SPDX-License-Identifier: MIT */
/* file_type.c - see file_type.h. */
#include "file_type.h"
#include "types.h"

#include <string.h>

/* Parts of names of tensors that are not quantised. */
static const char *const not_quantised[] = {
	"_norm.weight",
	"ffn_gate_inp.weight",
	"ffn_gate_tid2eid.weight",
	"altup",
	"laurel",
	"per_layer_model_proj",
	"position_embd",
	"token_types",
	"ssm_conv1d",
	"shortconv.conv.weight",
	"indexer.k_proj.weight",
	"indexer.q_proj.weight",
	"time_mix_first.weight",
	"time_mix_w0.weight",
	"time_mix_w1.weight",
	"time_mix_w2.weight",
	"time_mix_v0.weight",
	"time_mix_v1.weight",
	"time_mix_v2.weight",
	"time_mix_a0.weight",
	"time_mix_a1.weight",
	"time_mix_a2.weight",
	"time_mix_g1.weight",
	"time_mix_g2.weight",
	"time_mix_decay_w1.weight",
	"time_mix_decay_w2.weight",
	"time_mix_lerp_fused.weight",
	"attn_rel_b.weight",
	"sam.pos_embd",
	"sam.neck.",
	"sam.net_",
	".rel_pos",
	".patch_embd",
	".patch_merger",
	"a.rvq.codebook",
	"mm.a.code_embd",
};

bool file_type_counts(const char *name, size_t length, uint32_t dims)
{
	static const char ending[] = "weight";
	const size_t n = sizeof(ending) - 1;

	if (dims < 2 || length < n || memcmp(name + length - n, ending, n) != 0)
		return false;
	for (size_t i = 0; i < sizeof(not_quantised) / sizeof(not_quantised[0]); i++)
		if (memmem(name, length, not_quantised[i], strlen(not_quantised[i])))
			return false;
	return true;
}

bool file_type_is_end(const char *name, size_t length)
{
	static const char *const ends[] = { "token_embd.weight", "per_layer_token_embd.weight",
					    "output.weight" };

	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++)
		if (strlen(ends[i]) == length && memcmp(ends[i], name, length) == 0)
			return true;
	return false;
}

bool file_type_of(uint32_t type, uint32_t *file_type)
{
	/* File type plus one, by tensor type; 0: none. */
	static const uint8_t numbers[GGML_TYPES] = {
		[GGML_F32] = 1,	     [GGML_F16] = 2,	 [GGML_Q4_0] = 3,     [GGML_Q4_1] = 4,
		[GGML_Q8_0] = 8,     [GGML_Q5_0] = 9,	 [GGML_Q5_1] = 10,    [GGML_Q2_K] = 11,
		[GGML_Q3_K] = 13,    [GGML_Q4_K] = 16,	 [GGML_Q5_K] = 18,    [GGML_Q6_K] = 19,
		[GGML_IQ2_XXS] = 20, [GGML_IQ2_XS] = 21, [GGML_IQ3_XXS] = 24, [GGML_IQ1_S] = 25,
		[GGML_IQ4_NL] = 26,  [GGML_IQ3_S] = 27,	 [GGML_IQ2_S] = 29,   [GGML_IQ4_XS] = 31,
		[GGML_IQ1_M] = 32,   [GGML_BF16] = 33,	 [GGML_TQ1_0] = 37,   [GGML_TQ2_0] = 38,
		[GGML_MXFP4] = 39,   [GGML_NVFP4] = 40,	 [GGML_Q1_0] = 41,
	};

	if (type >= GGML_TYPES || !numbers[type])
		return false;
	*file_type = numbers[type] - 1u;
	return true;
}

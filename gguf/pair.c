/* SPDX-License-Identifier: MIT */
/* pair.c - see pair.h. */
#include "pair.h"
#include "dequant.h"
#include "error.h"
#include "organ.h"
#include "reader.h"

#include <errno.h>
#include <math.h>
#include <string.h>

static bool ends_with(const char *name, size_t length, const char *end)
{
	const size_t n = strlen(end);

	return length > n && memcmp(name + length - n, end, n) == 0;
}

enum pair_half pair_half(const char *name, size_t length, size_t *target)
{
	const enum pair_half half = ends_with(name, length, ".lora_a")	 ? PAIR_A
				    : ends_with(name, length, ".lora_b") ? PAIR_B
									 : PAIR_NONE;

	*target = half == PAIR_NONE ? 0 : length - strlen(".lora_a");
	return half;
}

bool pair_is_flipped(const char *target, size_t length)
{
	static const char name[] = "token_embd.weight";

	return length == strlen(name) ? memcmp(target, name, length) == 0
				      : ends_with(target, length, name);
}

float pair_alpha(const struct gguf *gguf)
{
	const struct kv *kv = gguf_find(gguf, PAIR_ALPHA_KEY);
	const uint32_t bits = kv ? (uint32_t)kv->scalar : 0;
	float alpha;

	memcpy(&alpha, &bits, sizeof(alpha));
	return kv && kv->type == KV_F32 && isfinite(alpha) ? alpha : 0.0f;
}

uint64_t pair_rank(const struct organ *a, bool flipped)
{
	return a->ne[flipped ? 0 : 1];
}

static bool is_integer(uint32_t type)
{
	return type >= GGML_I8 && type <= GGML_I64;
}

static int check_types(const struct organ *target, const struct organ *a, const struct organ *b,
		       struct error *err)
{
	const struct organ *const all[] = { target, a, b };
	char scratch[TYPE_NAME_MAX];

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		if (all[i] && (!dequant_supported(all[i]->type) || is_integer(all[i]->type)))
			return error_set(err, EINVAL, ERROR_NO_OFFSET,
					 "%s is of type %s, which cannot be decoded",
					 i == 0	  ? "the tensor to be changed"
					 : i == 1 ? "lora_a"
						  : "lora_b",
					 type_name(all[i]->type, scratch));
	return 0;
}

/* Check the axes of a half; 0 stands for any length. */
static int check_shape(const struct organ *half, const char *which, uint64_t ne0, uint64_t ne1,
		       const struct organ *target, struct error *err)
{
	char is[SHAPE_TEXT_MAX], to[SHAPE_TEXT_MAX];

	if (!half || ((ne0 == 0 || half->ne[0] == ne0) && (ne1 == 0 || half->ne[1] == ne1) &&
		      half->ne[2] == target->ne[2] && half->ne[3] == target->ne[3]))
		return 0;
	return error_set(err, EINVAL, ERROR_NO_OFFSET,
			 "%s is %s, which does not fit the tensor's shape %s", which,
			 shape_text(half->ne, half->dims, is),
			 shape_text(target->ne, target->dims, to));
}

static int check_rank(const struct organ *target, const struct organ *a, const struct organ *b,
		      bool flipped, struct error *err)
{
	const uint64_t rank = a ? pair_rank(a, flipped) : b ? b->ne[0] : 1;

	if (a && b && rank != b->ne[0])
		return error_set(err, EINVAL, ERROR_NO_OFFSET,
				 "lora_a has rank %llu and lora_b %llu", (unsigned long long)rank,
				 (unsigned long long)b->ne[0]);
	if (rank == 0 || target->ne[0] == 0 || target->ne[0] > PAIR_VALUES_MOST / rank)
		return error_set(err, EINVAL, ERROR_NO_OFFSET,
				 "no adapter of rank %llu can be merged into rows of %llu values",
				 (unsigned long long)rank, (unsigned long long)target->ne[0]);
	return 0;
}

int pair_fits(const struct organ *target, const struct organ *a, const struct organ *b,
	      struct error *err)
{
	const bool flipped = pair_is_flipped(target->name, target->name_length);
	int rc = check_types(target, a, b, err);

	if (rc == 0)
		rc = check_shape(a, "lora_a", flipped ? 0 : target->ne[0],
				 flipped ? target->ne[1] : 0, target, err);
	if (rc == 0)
		rc = check_shape(b, "lora_b", 0, target->ne[flipped ? 0 : 1], target, err);
	return rc < 0 ? rc : check_rank(target, a, b, flipped, err);
}

static bool make_half(const struct organ *target, uint64_t ne0, uint64_t ne1, struct organ *half)
{
	*half = *target;
	half->dims = target->dims > 2 ? target->dims : 2;
	half->ne[0] = ne0;
	half->ne[1] = ne1;
	half->type = GGML_F32;
	return type_size(half->type, half->ne, &half->data_size) == TYPE_SIZE_OK;
}

bool pair_of_rank(const struct organ *target, uint64_t rank, struct organ *a, struct organ *b)
{
	const bool flipped = pair_is_flipped(target->name, target->name_length);

	if (flipped)
		return make_half(target, rank, target->ne[1], a) &&
		       make_half(target, rank, target->ne[0], b);
	return make_half(target, target->ne[0], rank, a) &&
	       make_half(target, rank, target->ne[1], b);
}

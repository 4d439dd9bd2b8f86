/* SPDX-License-Identifier: MIT */
/* pair.h - low-rank adapters (LoRA): pairs of tensors NAME.lora_a and NAME.lora_b, which change the
 * tensor NAME of a model by the product of the two. Names and shapes as llama.cpp's loader has
 * them:
 *
 *	NAME                lora_a               lora_b
 *	in x out            in x rank            rank x out
 *	in x out x experts  in x rank x experts  rank x out x experts
 *	in x tokens         rank x tokens        rank x in
 *
 * The last line is token_embd, whose halves stand the other way round. */
#ifndef GGUF_PAIR_H
#define GGUF_PAIR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The key of the alpha, an F32: a pair's product is multiplied by alpha / rank. */
#define PAIR_ALPHA_KEY "adapter.lora.alpha"

struct error;
struct gguf;
struct organ;

enum pair_half { PAIR_A, PAIR_B, PAIR_NONE };

/* Most values of the matrix that is needed for every row: 256 MiB of floats. */
#define PAIR_VALUES_MOST ((uint64_t)1 << 26)

/* The half that a tensor with that name is. *target: length of the changed tensor's name, with
 * which the name begins. */
enum pair_half pair_half(const char *name, size_t length, size_t *target);

/* Are the halves transposed for a tensor with that name? */
bool pair_is_flipped(const char *target, size_t length);

/* Check that these halves may change that organ, whose name decides. A half may be NULL if it is
 * not known yet. Returns 0, or -EINVAL with err set. */
int pair_fits(const struct organ *target, const struct organ *a, const struct organ *b,
	      struct error *err);

/* The halves of that rank for that organ, as F32 with the organ's name. False: too large. */
bool pair_of_rank(const struct organ *target, uint64_t rank, struct organ *a, struct organ *b);

/* The alpha of an adapter file; 0: none. */
float pair_alpha(const struct gguf *gguf);

/* The rank of a pair that fits. */
uint64_t pair_rank(const struct organ *a, bool flipped);

#endif

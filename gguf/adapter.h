/* SPDX-License-Identifier: MIT */
/* adapter.h - the plan of a low-rank adapter as a GGUF: which pairs it has, and where their data
 * lie. Keys and names are those that llama.cpp's loader asks for (src/llama-adapter.cpp):
 * general.type "adapter", adapter.type "lora", general.architecture as the model has it, and
 * adapter.lora.alpha. */
#ifndef GGUF_ADAPTER_H
#define GGUF_ADAPTER_H

#include "organ.h"

#include <stddef.h>

#define ADAPTER_ALIGNMENT 32u

/* No tensor's name may be longer: ggml keeps 64 bytes of it with a NUL (GGML_MAX_NAME), and a pair
 * is found by its whole name. */
#define ADAPTER_TARGET_MOST (63u - (uint32_t)sizeof(".lora_a") + 1)

/* A tensor to be changed. */
struct adapter_target {
	struct organ organ;
	uint32_t rank; /* at least 1 */
};

/* Where in the file the data of its halves lie, and how many bytes each has. */
struct adapter_place {
	uint64_t a, b;
	uint64_t a_size, b_size;
};

struct adapter {
	uint8_t *header; /* all before the data, with its padding */
	size_t header_size;
	uint32_t n;
	struct adapter_place *places; /* in the order of the targets: a, b, a, b, ... */
	uint64_t size;		      /* of the file; what no place has is zeros */
};

/* Plan the file for n targets, in whose pairs B A is the change itself: alpha is the rank, or where
 * not all have the same one 0, which to llama.cpp means that nothing is divided by the rank.
 * architecture has length bytes. Release the result with adapter_release(). Errors: EOVERFLOW it
 * would be too large, ENOMEM. */
int adapter_build(const char *architecture, uint32_t length, const struct adapter_target *targets,
		  uint32_t n, struct adapter *adapter);
void adapter_release(struct adapter *adapter);

#endif

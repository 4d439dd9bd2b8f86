/* SPDX-License-Identifier: MIT */
/* adapter.h - the plan of a low-rank adapter file (GGUF): its pairs and the places of their data.
 * Keys and names are those that llama.cpp's loader requires (src/llama-adapter.cpp): general.type
 * "adapter", adapter.type "lora", general.architecture equal to the model's, and
 * adapter.lora.alpha. */
#ifndef GGUF_ADAPTER_H
#define GGUF_ADAPTER_H

#include "organ.h"

#include <stddef.h>

#define ADAPTER_ALIGNMENT 32u

/* Longest name of a target: ggml keeps 64 bytes of a tensor's name with a NUL (GGML_MAX_NAME), and
 * llama.cpp finds a pair by its whole name. */
#define ADAPTER_TARGET_MOST (63u - (uint32_t)sizeof(".lora_a") + 1)

/* A tensor that the adapter changes. */
struct adapter_target {
	struct organ organ;
	uint32_t rank; /* at least 1 */
};

/* Offset in the file and length, in bytes, of the data of both halves. */
struct adapter_place {
	uint64_t a, b;
	uint64_t a_size, b_size;
};

struct adapter {
	uint8_t *header; /* all bytes before the data, padding included */
	size_t header_size;
	uint32_t n;
	struct adapter_place *places; /* in the order of the targets: a, b, a, b, ... */
	uint64_t size;		      /* of the file; bytes outside all places are zeros */
};

/* Plan the file for n targets whose products B A are the changes themselves: alpha is the common
 * rank, or 0 if ranks differ, with which llama.cpp does not divide by the rank. architecture has
 * length bytes. Release the result with adapter_release(). Errors: EOVERFLOW if the file would be
 * too large, ENOMEM. */
int adapter_build(const char *architecture, uint32_t length, const struct adapter_target *targets,
		  uint32_t n, struct adapter *adapter);
void adapter_release(struct adapter *adapter);

#endif

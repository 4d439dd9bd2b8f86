/* SPDX-License-Identifier: MIT */
/* fuzz_help.h - helpers of the fuzzers. */
#ifndef TESTS_FUZZ_FUZZ_HELP_H
#define TESTS_FUZZ_FUZZ_HELP_H

#include "gguf/cursor.h"
#include "gguf/error.h"
#include "gguf/reader.h"
#include "gguf/types.h"

#include <stdio.h>
#include <stdlib.h>

/* Run one input; a violated requirement aborts the process. Returns 0. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Most bytes of a rendered file: an alignment may ask for gigabytes of padding. */
#define RENDER_MAX ((uint64_t)1 << 18)

#define require(holds) require_at(holds, #holds, __FILE__, __LINE__)

static inline void require_at(bool holds, const char *what, const char *file, int line)
{
	if (holds)
		return;
	fprintf(stderr, "%s:%d: does not hold: %s\n", file, line, what);
	abort();
}

/* Parse bytes as a GGUF; NULL if they are none. */
static inline struct gguf *read_bytes(const uint8_t *bytes, size_t size)
{
	struct memory_bytes memory = { bytes, size };
	const struct source source = source_of_memory(&memory);
	struct error err;

	return gguf_read(&source, &err);
}

static inline bool has_short(const struct gguf *gguf)
{
	for (uint32_t i = 0; i < gguf->n_tensors; i++)
		if (type_is_short(gguf->tensors[i].type))
			return true;
	return false;
}

#endif

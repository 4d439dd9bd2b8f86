/* SPDX-License-Identifier: MIT */
/* gguf_bytes.h - a GGUF read from memory, by tests that expect it to be one. */
#ifndef TESTS_UNIT_GGUF_BYTES_H
#define TESTS_UNIT_GGUF_BYTES_H

#include "gguf/reader.h"
#include "tests/unit/unit.h"

static inline struct gguf *read_bytes(const uint8_t *bytes, size_t size)
{
	struct memory_bytes memory = { bytes, size };
	const struct source source = source_of_memory(&memory);
	struct error err = { 0 };
	struct gguf *gguf = gguf_read(&source, &err);

	if (!gguf)
		fail_msg("byte %lld: %s", (long long)err.offset, err.text);
	return gguf;
}

#endif

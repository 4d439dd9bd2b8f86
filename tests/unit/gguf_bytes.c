/* SPDX-License-Identifier: MIT */
/* gguf_bytes.c - see gguf_bytes.h. */
#include "tests/unit/gguf_bytes.h"
#include "gguf/cursor.h"

struct gguf *read_bytes(const uint8_t *bytes, size_t size)
{
	struct memory_bytes memory = { bytes, size };
	const struct source source = source_of_memory(&memory);
	struct error err = { 0 };
	struct gguf *gguf = gguf_read(&source, &err);

	if (!gguf)
		fail_msg("byte %lld: %s", (long long)err.offset, err.text);
	return gguf;
}

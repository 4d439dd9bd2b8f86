/* SPDX-License-Identifier: MIT */
/* values.c - see values.h. */
#include "tests/unit/values.h"
#include "gguf/cursor.h"

char *text_of_value(const struct value *value, size_t *size)
{
	int rc;
	struct value_text *text = value_text_new(value, &rc);
	char *bytes;

	assert_int_equal(rc, 0);
	*size = value_text_size(text);
	bytes = malloc(*size + 1);
	assert_non_null(bytes);
	assert_int_equal(value_text_read(text, value, bytes, *size, 0), 0);
	bytes[*size] = '\0';
	value_text_free(text);
	return bytes;
}

int parse_text_of(const char *text, size_t n, struct value_type type, uint32_t width,
		  struct value_bytes *out, struct error *err)
{
	struct memory_bytes memory = { (const uint8_t *)text, n };
	const struct source source = source_of_memory(&memory);

	return value_parse(&source, type, width, out, err);
}

/* SPDX-License-Identifier: MIT */
/* values.h - metadata values and their texts in memory. */
#ifndef TESTS_UNIT_VALUES_H
#define TESTS_UNIT_VALUES_H

#include "fs/metadata/value_parse.h"
#include "fs/metadata/value_text.h"
#include "tests/unit/unit.h"

/* The whole text of a value, with a NUL behind it; caller frees. */
char *text_of_value(const struct value *value, size_t *size);

/* Value of a text of n bytes, by value_parse(). */
int parse_text_of(const char *text, size_t n, struct value_type type, uint32_t width,
		  struct value_bytes *out, struct error *err);

#endif

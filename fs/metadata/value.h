/* SPDX-License-Identifier: MIT */
/* value.h - metadata values, names of their types, and conversion of scalars to and from text. */
#ifndef FS_METADATA_VALUE_H
#define FS_METADATA_VALUE_H

#include "gguf/reader.h"

struct value_type {
	enum kv_type type;
	enum kv_type element; /* of an array; never KV_ARRAY */
};

/* A value in a file or in memory. */
struct value {
	struct value_type type;
	uint32_t width; /* bytes of the length before each string in an array: 4 or 8 */
	uint64_t count; /* number of an array's elements */
	const struct source *source; /* borrowed source of the bytes, */
	uint64_t offset, length;     /* their place; for an array without type and count */
};

/* Print a type in the specification's words: "uint32", "string", "array of float32". The longest
 * has VALUE_TYPE_TEXT bytes with its NUL. Returns text. */
#define VALUE_TYPE_TEXT 24
const char *value_type_text(struct value_type type, char text[VALUE_TYPE_TEXT]);

/* Parse a type of n bytes: these words, or short ones ("u32", "f64"), arrays also as "u32[]", in
 * upper or lower case. False: not a type. */
bool value_type_parse(const char *text, size_t n, struct value_type *type);

bool value_type_same(struct value_type a, struct value_type b);

/* Print a scalar, given its little-endian bytes, as a word: integers in decimal, floats with the
 * fewest digits that read back unchanged ("0.1", "1e-05"), "true" and "false". Special values also
 * read back: "inf", "-inf", "nan", other NaNs as "nan(0x7fc00001)" with all bits, and a bool other
 * than 0 and 1 as a number. Returns the length without the NUL. */
#define VALUE_SCALAR_TEXT 40
size_t value_scalar_text(enum kv_type type, uint64_t scalar, char text[VALUE_SCALAR_TEXT]);

/* A float from its bytes; and whether a text reads back as this value. */
double value_float(enum kv_type type, uint64_t scalar);
bool value_float_reads_back(enum kv_type type, const char *text, double value);

/* Get the little-endian bytes, zero-extended, of a scalar, or of element i of an array of scalars.
 * False: none, or unreadable. */
bool value_scalar(const struct value *value, uint64_t i, uint64_t *scalar);

/* Parse such a word of n bytes. Other notations of numbers are accepted too: "1.50", "+5", and
 * "infinity", "NaN" in upper or lower case. Returns 0, or -EINVAL with err set: not a value of the
 * type, or out of its range. offset: of the word, for err. */
int value_scalar_parse(enum kv_type type, const char *text, size_t n, uint64_t offset,
		       uint64_t *scalar, struct error *err);

#endif

/* SPDX-License-Identifier: MIT */
/* value.h - a metadata value and the words for its type, and one scalar as text and back. */
#ifndef FS_METADATA_VALUE_H
#define FS_METADATA_VALUE_H

#include "gguf/reader.h"

struct value_type {
	enum kv_type type;
	enum kv_type element; /* of an array; no array itself */
};

/* A value as it lies in a file or in memory. */
struct value {
	struct value_type type;
	uint32_t width; /* bytes of the length before each string of an array: 4 or 8 */
	uint64_t count; /* elements of an array */
	const struct source *source; /* borrowed: where the bytes are, */
	uint64_t offset, length; /* from where and how many; of an array without type and count */
};

/* "uint32", "string", "array of float32": the words of the specification. The longest has
 * VALUE_TYPE_TEXT bytes with its NUL. Returns text. */
#define VALUE_TYPE_TEXT 24
const char *value_type_text(struct value_type type, char text[VALUE_TYPE_TEXT]);

/* Read n bytes back: these words, the short ones ("u32", "f64"), arrays also as "u32[]"; capitals
 * count for nothing. False: no type. */
bool value_type_parse(const char *text, size_t n, struct value_type *type);

bool value_type_same(struct value_type a, struct value_type b);

/* A scalar, its little-endian bytes in scalar, as a word: integers in decimal, floats with the
 * fewest digits that read back the same ("0.1", "1e-05"), "true" and "false". What these cannot say
 * is said so that it reads back: "inf", "-inf", "nan", NaNs with other bits as "nan(0x7fc00001)"
 * with all bits of the value, a bool of another byte than 0 and 1 as its number. Returns the bytes
 * written, without the NUL. */
#define VALUE_SCALAR_TEXT 40
size_t value_scalar_text(enum kv_type type, uint64_t scalar, char text[VALUE_SCALAR_TEXT]);

/* A float from its bytes; and does that text read back as this value? */
double value_float(enum kv_type type, uint64_t scalar);
bool value_float_reads_back(enum kv_type type, const char *text, double value);

/* The little-endian bytes of a scalar, or of element i of an array of scalars, zero-extended.
 * False: there is none, or it cannot be read. */
bool value_scalar(const struct value *value, uint64_t i, uint64_t *scalar);

/* Read such a word of n bytes. Taken are also other ways to write a number, "1.50", "+5", and
 * "infinity", "NaN" in any letters. Returns 0, or -EINVAL with err set: it is none, or out of the
 * type's range. offset is the word's, for err. */
int value_scalar_parse(enum kv_type type, const char *text, size_t n, uint64_t offset,
		       uint64_t *scalar, struct error *err);

#endif

/* SPDX-License-Identifier: MIT */
/* value_text.h - a metadata value as the text of its file.
 *
 *	a scalar   as value_scalar_text(), and a newline
 *	a string   its bytes as they are, and a newline
 *	an array   one JSON array on one line, and a newline: scalars as above, but "inf" and "nan"
 *	           in quotes, for JSON has no such numbers; strings with what JSON escapes, and
 *	           bytes that are no UTF-8 as \udcXX (Python's surrogateescape)
 *
 * The text of a tokenizer has megabytes. It is never held: once all of it is made to know its size,
 * and with it places from which on it can be made again, a short way apart. */
#ifndef FS_METADATA_VALUE_TEXT_H
#define FS_METADATA_VALUE_TEXT_H

#include <stdint.h>
#include <sys/types.h>

struct value;

struct value_text; /* immutable; any thread may use it */

/* NULL with *rc set: -ENOMEM, or -EIO: the source cannot be read, or is not what it was when it was
 * parsed. */
struct value_text *value_text_new(const struct value *value, int *rc);
void value_text_free(struct value_text *text);

uint64_t value_text_size(const struct value_text *text);

/* How many chunks it is made in, and of number i its length and in *offset where it begins. What
 * begins and ends with a chunk is made without waste. */
size_t value_text_chunks(const struct value_text *text);
uint64_t value_text_chunk(const struct value_text *text, size_t i, uint64_t *offset);

/* All of the n bytes at offset, which lie within the size. value is what the text is of. Returns 0,
 * -EIO, -ENOMEM. */
int value_text_read(const struct value_text *text, const struct value *value, char *bytes, size_t n,
		    uint64_t offset);

#endif

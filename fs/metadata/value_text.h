/* SPDX-License-Identifier: MIT */
/* value_text.h - a metadata value as the text of its file.
 *
 *	a scalar   as value_scalar_text(), and a newline
 *	a string   its bytes as they are, and a newline
 *	an array   one JSON array on one line, and a newline: scalars as above, but "inf" and "nan"
 *	           in quotes, because JSON lacks such numbers; strings with JSON's escapes, and
 *	           bytes that are not UTF-8 as \udcXX (Python's surrogateescape)
 *
 * The text of a tokenizer has megabytes and is not kept in memory. It is generated once to know its
 * size and to record positions, a short distance apart, from which parts can be generated again. */
#ifndef FS_METADATA_VALUE_TEXT_H
#define FS_METADATA_VALUE_TEXT_H

#include <stdint.h>
#include <sys/types.h>

struct value;

struct value_text; /* immutable; any thread may use it */

/* NULL with *rc set: -ENOMEM, or -EIO if the source is unreadable or was changed. */
struct value_text *value_text_new(const struct value *value, int *rc);
void value_text_free(struct value_text *text);

uint64_t value_text_size(const struct value_text *text);

/* Number of chunks in which the text is generated; length of chunk i, and in *offset its begin.
 * Reads of whole chunks generate no excess text. */
size_t value_text_chunks(const struct value_text *text);
uint64_t value_text_chunk(const struct value_text *text, size_t i, uint64_t *offset);

/* Read all n bytes at offset, which lie within the size. value is the value of the text. Returns 0,
 * -EIO, -ENOMEM. */
int value_text_read(const struct value_text *text, const struct value *value, char *bytes, size_t n,
		    uint64_t offset);

#endif

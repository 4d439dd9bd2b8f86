/* SPDX-License-Identifier: MIT */
/* value_parse.h - what a user wrote as the value of a metadata key, checked. */
#ifndef FS_METADATA_VALUE_PARSE_H
#define FS_METADATA_VALUE_PARSE_H

#include "fs/metadata/value.h"

/* A longer text is no metadata. */
#define VALUE_PARSE_MAX ((uint64_t)1 << 28)

/* A value's bytes as they lie in a GGUF, of an array without type and count. */
struct value_bytes {
	uint8_t *bytes;
	size_t length;
	uint64_t count; /* elements of an array */
};

/* Read a text as a value of that type: what value_text.h writes, and more. Blanks around a number
 * or an array, and in it, count for nothing, nor does one newline after a string. width: as in
 * struct value. *out is to be freed with free(out->bytes). Returns 0, or with err set -EINVAL: it
 * is none (err->offset is where in the text), -EIO, -ENOMEM. */
int value_parse(const struct source *text, struct value_type type, uint32_t width,
		struct value_bytes *out, struct error *err);

#endif

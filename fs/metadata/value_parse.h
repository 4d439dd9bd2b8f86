/* SPDX-License-Identifier: MIT */
/* value_parse.h - parses the text that a user wrote as the value of a metadata key. */
#ifndef FS_METADATA_VALUE_PARSE_H
#define FS_METADATA_VALUE_PARSE_H

#include "fs/metadata/value.h"

/* longest text of a value */
#define VALUE_PARSE_MAX ((uint64_t)1 << 28)

/* The bytes of a value as in a GGUF; for an array without type and count. */
struct value_bytes {
	uint8_t *bytes;
	size_t length;
	uint64_t count; /* number of an array's elements */
};

/* Parse a text as a value of that type: the format of value_text.h, and more. Blanks around and
 * within numbers and arrays are ignored, as is one newline after a string. width: as in struct
 * value. Free out->bytes. Returns 0, or with err set -EINVAL invalid (err->offset: position in the
 * text), -EIO, -ENOMEM. */
int value_parse(const struct source *text, struct value_type type, uint32_t width,
		struct value_bytes *out, struct error *err);

#endif

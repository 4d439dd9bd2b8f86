/* SPDX-License-Identifier: MIT */
/* reader_internal.h - shared by reader.c and reader_tensors.c. */
#ifndef GGUF_READER_INTERNAL_H
#define GGUF_READER_INTERNAL_H

#include "cursor.h"

#include <stdbool.h>

struct parse {
	struct cursor in;
	struct gguf *gguf;
	struct error *err;
	bool header; /* the source lacks the tensor data */
};

/* Parse a length or axis: u64, or u32 in version 1. Errors of cursor_u64(). */
int parse_length(struct parse *p, uint64_t *length);

/* Parse a key or name and copy it into the arena. Errors name its owner by a noun and a number. */
int parse_text(struct parse *p, const char *what, uint64_t number, const char **text,
	       uint32_t *length);

/* Set the error for -EBADMSG or -EIO of a cursor, and return it. */
int parse_failed(struct parse *p, int rc, const char *what, uint64_t number);

/* Parse the tensor infos and derive sizes, extents, order and overlap. */
int parse_tensors(struct parse *p);

#endif

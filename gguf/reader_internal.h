/* SPDX-License-Identifier: MIT */
/* reader_internal.h - what reader.c and reader_tensors.c share. */
#ifndef GGUF_READER_INTERNAL_H
#define GGUF_READER_INTERNAL_H

#include "cursor.h"

#include <stdbool.h>

struct parse {
	struct cursor in;
	struct gguf *gguf;
	struct error *err;
	bool header; /* the tensors' bytes are not in the source */
};

/* A length or axis: u64, in version 1 u32. Errors as cursor_u64(). */
int parse_length(struct parse *p, uint64_t *length);

/* A key or name, copied into the arena. what and number name its owner in an error. */
int parse_text(struct parse *p, const char *what, uint64_t number, const char **text,
	       uint32_t *length);

/* Turn a cursor's -EBADMSG or -EIO into a sentence; returns it. */
int parse_failed(struct parse *p, int rc, const char *what, uint64_t number);

/* The tensor infos and all that follows from them: sizes, extents, order, overlap. */
int parse_tensors(struct parse *p);

#endif

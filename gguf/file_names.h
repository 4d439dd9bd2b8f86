/* SPDX-License-Identifier: MIT */
/* file_names.h - the unique NAME for the files of each tensor of a model. */
#ifndef GGUF_FILE_NAMES_H
#define GGUF_FILE_NAMES_H

struct arena;
struct gguf;

/* Give every tensor, by number, the short form of its name (anatomy.h), or the exact one if another
 * tensor has the same short form. The arena owns the names. Returns 0 or -ENOMEM. */
int file_names(const struct gguf *gguf, struct arena *arena, const char **names);

#endif

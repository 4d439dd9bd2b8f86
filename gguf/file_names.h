/* SPDX-License-Identifier: MIT */
/* file_names.h - the NAME under which each tensor of a model has its files. */
#ifndef GGUF_FILE_NAMES_H
#define GGUF_FILE_NAMES_H

struct arena;
struct gguf;

/* Give every tensor, by its number, the short form of its name (anatomy.h), or its exact one where
 * the short form is another's too. The texts are the arena's. Returns 0 or -ENOMEM. */
int file_names(const struct gguf *gguf, struct arena *arena, const char **names);

#endif

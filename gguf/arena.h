/* SPDX-License-Identifier: MIT */
/* arena.h - many small byte strings that are released together. */
#ifndef GGUF_ARENA_H
#define GGUF_ARENA_H

#include <stddef.h>

struct arena;

struct arena *arena_new(void);
void arena_free(struct arena *arena);

/* A copy of the bytes with a NUL after them, owned by the arena. NULL: out of memory. */
char *arena_copy(struct arena *arena, const void *bytes, size_t n);

#endif

/* SPDX-License-Identifier: MIT */
/* arena.c - see arena.h. */
#include "arena.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* The first chunk has room for a few names, enough for many arenas; each further one has twice the
 * room, up to CHUNK_MOST. */
#define CHUNK_FIRST ((size_t)128)
#define CHUNK_MOST  ((size_t)32768)

struct chunk {
	struct chunk *next;
	size_t used, size;
	char bytes[];
};

struct arena {
	struct chunk *chunks; /* the first one is being filled */
};

struct arena *arena_new(void)
{
	return calloc(1, sizeof(struct arena));
}

void arena_free(struct arena *arena)
{
	if (!arena)
		return;
	while (arena->chunks) {
		struct chunk *next = arena->chunks->next;

		free(arena->chunks);
		arena->chunks = next;
	}
	free(arena);
}

char *arena_copy(struct arena *arena, const void *bytes, size_t n)
{
	struct chunk *chunk = arena->chunks;
	char *copy;

	if (n > SIZE_MAX / 2)
		return NULL;
	if (!chunk || chunk->size - chunk->used < n + 1) {
		size_t size = chunk ? 2 * chunk->size : CHUNK_FIRST;

		size = size < CHUNK_MOST ? size : CHUNK_MOST;
		size = size > n + 1 ? size : n + 1;
		chunk = malloc(sizeof(*chunk) + size);
		if (!chunk)
			return NULL;
		chunk->used = 0;
		chunk->size = size;
		chunk->next = arena->chunks;
		arena->chunks = chunk;
	}
	copy = chunk->bytes + chunk->used;
	if (n)
		memcpy(copy, bytes, n);
	copy[n] = '\0';
	chunk->used += n + 1;
	return copy;
}

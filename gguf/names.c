/* SPDX-License-Identifier: MIT */
/* names.c - see names.h. Open addressing with linear probing, at most half full. */
#include "names.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <xxhash.h>

struct entry {
	const char *name; /* NULL: free */
	size_t length;
	uint64_t hash;
	uint32_t value;
};

struct names {
	struct entry *entries;
	size_t mask, used;
	/* Random, so that no file can be crafted whose names all collide. Tables of up to SMALL
	 * entries have no seed: they are searched fast in any case, and a model has such a table
	 * for each organ file. */
	uint64_t seed;
};

#define SMALL ((size_t)16)

static void set_seed(struct names *names)
{
	if (names->mask < SMALL)
		names->seed = 0;
	else if (getrandom(&names->seed, sizeof(names->seed), GRND_NONBLOCK) < 0)
		names->seed = (uintptr_t)names->entries;
}

static uint64_t hash_of(const struct names *names, const char *name, size_t length)
{
	return XXH3_64bits_withSeed(name, length, names->seed);
}

static size_t probe(const struct entry *entries, size_t mask, uint64_t hash, const char *name,
		    size_t length)
{
	size_t i = (size_t)hash & mask;

	while (entries[i].name && (entries[i].hash != hash || entries[i].length != length ||
				   memcmp(entries[i].name, name, length) != 0))
		i = (i + 1) & mask;
	return i;
}

struct names *names_new(size_t expected)
{
	struct names *names = calloc(1, sizeof(*names));
	size_t slots = 2;

	if (!names)
		return NULL;
	while (slots / 2 < expected && slots <= SIZE_MAX / 4)
		slots *= 2;
	names->mask = slots - 1;
	names->entries = calloc(slots, sizeof(*names->entries));
	if (!names->entries) {
		free(names);
		return NULL;
	}
	set_seed(names);
	return names;
}

void names_free(struct names *names)
{
	if (!names)
		return;
	free(names->entries);
	free(names);
}

static int grow(struct names *names)
{
	struct names larger = { .mask = names->mask * 2 + 1,
				.used = names->used,
				.seed = names->seed };

	larger.entries = calloc(larger.mask + 1, sizeof(*larger.entries));
	if (!larger.entries)
		return -ENOMEM;
	if (names->mask + 1 == SMALL)
		set_seed(&larger);
	for (size_t i = 0; i <= names->mask; i++) {
		struct entry e = names->entries[i];

		if (!e.name)
			continue;
		if (larger.seed != names->seed)
			e.hash = hash_of(&larger, e.name, e.length);
		larger.entries[probe(larger.entries, larger.mask, e.hash, e.name, e.length)] = e;
	}
	free(names->entries);
	*names = larger;
	return 0;
}

int names_add(struct names *names, const char *name, size_t length, uint32_t value)
{
	uint64_t hash = hash_of(names, name, length);
	size_t i = probe(names->entries, names->mask, hash, name, length);

	if (names->entries[i].name)
		return -EEXIST;
	if (names->used >= (names->mask + 1) / 2) {
		if (grow(names) < 0)
			return -ENOMEM;
		hash = hash_of(names, name, length);
		i = probe(names->entries, names->mask, hash, name, length);
	}
	names->entries[i] = (struct entry){ name, length, hash, value };
	names->used++;
	return 0;
}

bool names_find(const struct names *names, const char *name, size_t length, uint32_t *value)
{
	const uint64_t hash = hash_of(names, name, length);
	const size_t i = probe(names->entries, names->mask, hash, name, length);

	if (!names->entries[i].name)
		return false;
	*value = names->entries[i].value;
	return true;
}

int names_compare(const char *a, size_t a_length, const char *b, size_t b_length)
{
	const int order = memcmp(a, b, a_length < b_length ? a_length : b_length);

	return order ? order : (a_length > b_length) - (a_length < b_length);
}

/* SPDX-License-Identifier: MIT */
/* recipe_ancestry.h - recipes contained in bases and donors, by which a chain of chimeras can be
 * traced. */
#ifndef FS_RECIPE_RECIPE_ANCESTRY_H
#define FS_RECIPE_RECIPE_ANCESTRY_H

#include "fs/base/fingerprint.h"

#include <pthread.h>

struct donor;
struct recipe_source;

/* Limits of a contained recipe: bytes, and recipes nested within each other. A larger one is
 * cut. */
#define ANCESTRY_SIZE_MAX  ((size_t)1 << 20)
#define ANCESTRY_DEPTH_MAX 16u

/* Cache of the recipes and hashes read from files: each file is read once, so that answers stay the
 * same during a mount. Any thread may use it. */
struct recipe_ancestry {
	pthread_mutex_t lock; /* protects the fields below */
	struct recipe_ancestor *first;
	struct recipe_contents *contents;
};

void recipe_ancestry_init(struct recipe_ancestry *ancestry);
void recipe_ancestry_release(struct recipe_ancestry *ancestry);

/* Recipe in the GGUF's key LINEAGE_KEY, to free. NULL with *size 0: none, unreadable or out of
 * memory; else it is longer than most bytes. */
char *recipe_carried(struct backing *file, const struct gguf *gguf, size_t most, size_t *size);

/* Number of recipes nested in a text, counting the text; 0: no recipe. Counts at most
 * ANCESTRY_DEPTH_MAX + 1. */
unsigned recipe_depth(const char *text, size_t n);

/* Hash of a file's contents by fingerprint_contents(); gguf NULL: parse the file. Empty: not known,
 * because the file is on a server or cannot be read now. Cached while the file is the same by
 * paths_same_file(). Returns 0 or -ENOMEM. */
int recipe_ancestry_contents(struct recipe_ancestry *ancestry, struct backing *file,
			     const struct gguf *gguf, char text[FINGERPRINT_TEXT]);

/* Set source->recipe, by its fingerprint: read from file if gguf is given, else from the donor,
 * else from the cache. Returns 0 or -ENOMEM. */
int recipe_ancestry_fill(struct recipe_ancestry *ancestry, struct recipe_source *source,
			 struct backing *file, const struct gguf *gguf, const struct donor *donor);

#endif

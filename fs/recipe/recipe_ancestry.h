/* SPDX-License-Identifier: MIT */
/* recipe_ancestry.h - the recipes that bases and donors carry themselves, so that a chain of
 * chimeras can be followed back. */
#ifndef FS_RECIPE_RECIPE_ANCESTRY_H
#define FS_RECIPE_RECIPE_ANCESTRY_H

#include "fs/base/fingerprint.h"

#include <pthread.h>

struct donor;
struct recipe_source;

/* What is carried is kept in another recipe up to this size in bytes, and up to so many recipes
 * within each other; what is larger is cut. */
#define ANCESTRY_SIZE_MAX  ((size_t)1 << 20)
#define ANCESTRY_DEPTH_MAX 16u

/* What was read of each file, so that it is read once and says the same for as long as a mount is
 * there. All zeros but for the lock there is none. Any thread may use it. */
struct recipe_ancestry {
	pthread_mutex_t lock; /* protects what follows */
	struct recipe_ancestor *first;
	struct recipe_contents *contents;
};

void recipe_ancestry_init(struct recipe_ancestry *ancestry);
void recipe_ancestry_release(struct recipe_ancestry *ancestry);

/* The text that the GGUF carries as LINEAGE_KEY, to free. NULL: *size 0 there is none, it cannot be
 * read or there is no memory, else it is longer than most bytes. */
char *recipe_carried(struct backing *file, const struct gguf *gguf, size_t most, size_t *size);

/* How many recipes there are within each other in a text, itself included; 0: it is none. More than
 * ANCESTRY_DEPTH_MAX + 1 are not counted. */
unsigned recipe_depth(const char *text, size_t n);

/* fingerprint_contents() of a file, gguf NULL: which is parsed for it. Empty: it is not known, for
 * it lies on a server or cannot be read now. Once made it is not made again as long as the file is
 * the same, as paths_same_file() tells. Returns 0 or -ENOMEM. */
int recipe_ancestry_contents(struct recipe_ancestry *ancestry, struct backing *file,
			     const struct gguf *gguf, char text[FINGERPRINT_TEXT]);

/* source, which has a fingerprint, gets what the file carries: from the GGUF where that is
 * given, else from where the donor says, else what was read before. Returns 0 or -ENOMEM. */
int recipe_ancestry_fill(struct recipe_ancestry *ancestry, struct recipe_source *source,
			 struct backing *file, const struct gguf *gguf, const struct donor *donor);

#endif

/* SPDX-License-Identifier: MIT */
/* slots.h - what every tensor of a model is now: the base's, or a graft.
 *
 * 1. A slot changes in one step: readers see the old content or the new one.
 * 2. A content never changes; whoever holds it keeps it alive.
 * 3. Every change moves the generation on, and nothing else does. */
#ifndef FS_SLOTS_H
#define FS_SLOTS_H

#include "fs/backing.h"
#include "fs/reading.h"
#include "gguf/organ.h"

#include <stdatomic.h>
#include <time.h>

/* An organ that a graft put into a slot. */
struct content {
	atomic_uint refs;
	uint64_t ino;	      /* the inode number of its organ file */
	struct organ organ;   /* as its file says; the name is the content's own */
	struct backing *file; /* an organ file on disk */
	struct timespec mtime;
	struct reading reading; /* of its values; readings.h */
};

/* A content of the organ in that file, both of which become the content's, also on failure.
 * NULL: out of memory. */
struct content *content_new(uint64_t ino, const struct organ *organ, struct backing *file);
struct content *content_ref(struct content *content);
void content_unref(struct content *content); /* NULL is fine */

struct slots; /* any thread may use it */

/* n slots, all with the base's content. NULL: out of memory. */
struct slots *slots_new(uint32_t n);
void slots_free(struct slots *slots);

/* The graft in slot i, to release with content_unref(), or NULL for the base's content. */
struct content *slots_get(struct slots *slots, uint32_t i);

/* Put content, which becomes the slots', into slot i. NULL restores the base's. */
void slots_put(struct slots *slots, uint32_t i, struct content *content);

uint64_t slots_generation(struct slots *slots);

/* All slots at one moment. */
struct snapshot {
	uint64_t generation;
	uint32_t n, grafts;	  /* slots; those that are not the base's */
	struct content **content; /* n of them, NULL for the base's */
};

/* Returns 0 or -ENOMEM. Release with snapshot_release(). */
int slots_snapshot(struct slots *slots, struct snapshot *snapshot);
void snapshot_release(struct snapshot *snapshot);

#endif

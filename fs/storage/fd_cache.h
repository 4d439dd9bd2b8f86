/* SPDX-License-Identifier: MIT */
/* descriptors.h - files of which only so many are open at a time: a model may have more shards than
 * a process may have descriptors. Those that were not used for longest are closed, and opened again
 * when they are needed. */
#ifndef FS_DESCRIPTORS_H
#define FS_DESCRIPTORS_H

#include <stdbool.h>

struct descriptors; /* counted; any thread may use it */

/* One file. To be zeroed but for fd and open, and not moved while it is used. */
struct descriptor {
	int fd; /* -1: it is not open */
	/* Opens the file anew. Returns a descriptor or -errno. */
	int (*open)(struct descriptor *descriptor);
	/* The set's. */
	unsigned holders;
	bool over; /* it is not opened any more */
	struct descriptor *before, *after;
};

/* At most so many are open, unless more are held at once. NULL: out of memory. */
struct descriptors *descriptors_new(unsigned most);
struct descriptors *descriptors_ref(struct descriptors *set);
void descriptors_unref(struct descriptors *set); /* NULL is fine */

/* Its fd, which is open, is the set's from now on. */
void descriptors_add(struct descriptors *set, struct descriptor *descriptor);

/* The file's descriptor, which stays open until it is let go. Returns it, or what open said, or
 * -ENOENT after descriptors_end(). */
int descriptors_hold(struct descriptors *set, struct descriptor *descriptor);
void descriptors_let(struct descriptors *set, struct descriptor *descriptor);

/* Close it as soon as nobody holds it. Before the struct goes, nobody may. */
void descriptors_end(struct descriptors *set, struct descriptor *descriptor);

#endif

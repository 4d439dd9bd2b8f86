/* SPDX-License-Identifier: MIT */
/* fd_cache.h - files of which only so many are open at a time: a model may have more shards than
 * a process may have descriptors. Those that were not used for longest are closed, and opened again
 * when they are needed. */
#ifndef FS_STORAGE_FD_CACHE_H
#define FS_STORAGE_FD_CACHE_H

#include <stdbool.h>

struct fd_cache; /* counted; any thread may use it */

/* One file. To be zeroed but for fd and open, and not moved while it is used. */
struct fd_cache_entry {
	int fd; /* -1: it is not open */
	/* Opens the file anew. Returns a descriptor or -errno. */
	int (*open)(struct fd_cache_entry *descriptor);
	/* The set's. */
	unsigned holders;
	bool removed; /* it is not opened any more */
	struct fd_cache_entry *before, *after;
};

/* At most so many are open, unless more are held at once. NULL: out of memory. */
struct fd_cache *fd_cache_new(unsigned most);
struct fd_cache *fd_cache_ref(struct fd_cache *set);
void fd_cache_unref(struct fd_cache *set); /* NULL is fine */

/* Its fd, which is open, is the set's from now on. */
void fd_cache_add(struct fd_cache *set, struct fd_cache_entry *descriptor);

/* The file's descriptor, which stays open until it is let go. Returns it, or what open said, or
 * -ENOENT after fd_cache_remove(). */
int fd_cache_get(struct fd_cache *set, struct fd_cache_entry *descriptor);

/* The same of one that is open, without waiting for a thread that opens another: -EAGAIN. */
int fd_cache_get_open(struct fd_cache *set, struct fd_cache_entry *descriptor);
void fd_cache_put(struct fd_cache *set, struct fd_cache_entry *descriptor);

/* Close it as soon as no thread holds it. Before the struct goes, none may. */
void fd_cache_remove(struct fd_cache *set, struct fd_cache_entry *descriptor);

#endif

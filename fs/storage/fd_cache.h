/* SPDX-License-Identifier: MIT */
/* fd_cache.h - an LRU cache of descriptors, because a model may have more shards than a process may
 * have descriptors. The least recently used file is closed and reopened when it is needed. */
#ifndef FS_STORAGE_FD_CACHE_H
#define FS_STORAGE_FD_CACHE_H

#include <stdbool.h>

struct fd_cache; /* reference-counted; any thread may use it */

/* One file. Zero all members but fd and open. The entry must not move while it is in use. */
struct fd_cache_entry {
	int fd; /* -1: closed */
	/* Reopens the file. Returns a descriptor or -errno. */
	int (*open)(struct fd_cache_entry *descriptor);
	/* Private to the cache. */
	unsigned holders;
	bool removed; /* the file must not be opened again */
	struct fd_cache_entry *before, *after;
};

/* A cache of at most `most` open files, or more while more are held. NULL: out of memory. */
struct fd_cache *fd_cache_new(unsigned most);
struct fd_cache *fd_cache_ref(struct fd_cache *set);
void fd_cache_unref(struct fd_cache *set); /* NULL is fine */

/* Add a file; its fd is open and belongs to the cache from now on. */
void fd_cache_add(struct fd_cache *set, struct fd_cache_entry *descriptor);

/* Hold the file open until fd_cache_put(). Returns the descriptor, an error of descriptor->open(),
 * or -ENOENT after fd_cache_remove(). */
int fd_cache_get(struct fd_cache *set, struct fd_cache_entry *descriptor);

/* fd_cache_get() if the file is open; -EAGAIN if not, or while another thread opens a file. */
int fd_cache_get_open(struct fd_cache *set, struct fd_cache_entry *descriptor);
void fd_cache_put(struct fd_cache *set, struct fd_cache_entry *descriptor);

/* Close the file when no thread holds it. The entry may be freed only when no thread holds it. */
void fd_cache_remove(struct fd_cache *set, struct fd_cache_entry *descriptor);

#endif

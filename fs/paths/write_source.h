/* SPDX-License-Identifier: MIT */
/* write_source.h - the source of the bytes that a process writes, as far as it can be known: cp and
 * the like have their source open while they write.
 *
 * 1. The writer's open files are listed before the first write is answered; they may be closed
 *    later.
 * 2. A thread of its own examines files of a filesystem that may hang, and is waited for once, for
 *    a few seconds.
 * 3. Our own mount is never asked through the kernel. */
#ifndef FS_PATHS_WRITE_SOURCE_H
#define FS_PATHS_WRITE_SOURCE_H

#include <stdint.h>
#include <sys/types.h>

struct donor;

struct write_sources; /* of a mount; any thread may use it */
struct write_source;  /* counted; any thread may use it */

/* Find the donor, and the size, of the mount's file with that inode number. NULL: unknown. */
typedef struct donor *write_source_own_fn(void *context, uint64_t ino, uint64_t *size);

/* own is called while a trace begins. NULL: out of memory. */
struct write_sources *write_sources_new(write_source_own_fn *own, void *context);
void write_sources_free(struct write_sources *tracer); /* NULL is fine */

/* Set the mount's absolute path and device number before requests come, else no write is traced. */
void write_sources_set_mount(struct write_sources *tracer, const char *point, dev_t device);

/* List the files that the process or thread has open, and begin to examine them, with the rights of
 * that user if the daemon is root. NULL: out of memory. */
struct write_source *write_source_begin(struct write_sources *tracer, pid_t pid, uid_t uid,
					gid_t gid);
struct write_source *write_source_ref(struct write_source *trace);
void write_source_unref(struct write_source *trace); /* NULL is fine */

/* The donor of the size bytes written: the only open file of that size, to release with
 * donor_unref(). The file of this mount with inode number target does not count: it is the one
 * written over, which rsync also has open. Waits for a few seconds at most. NULL: unknown. */
struct donor *write_source_donor(struct write_source *trace, uint64_t size, uint64_t target);

#endif

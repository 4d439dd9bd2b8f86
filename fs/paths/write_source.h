/* SPDX-License-Identifier: MIT */
/* write_source.h - where the bytes that a process writes come from, as far as that shows: cp and
 * its like have their source open while they write.
 *
 * 1. What is open is noted before the first write is answered, for afterwards it may be closed.
 * 2. Whose filesystem may hang is asked on a thread of its own, that is waited for a little and
 *    then never again.
 * 3. Our own mount is never asked through the kernel. */
#ifndef FS_PATHS_WRITE_SOURCE_H
#define FS_PATHS_WRITE_SOURCE_H

#include <stdint.h>
#include <sys/types.h>

struct donor;

struct write_sources; /* of a mount; any thread may use it */
struct write_source;  /* counted; any thread may use it */

/* The donor of the file of this mount with that inode number, and its size; NULL: not known. */
typedef struct donor *write_source_own_fn(void *context, uint64_t ino, uint64_t *size);

/* own is called while a trace begins. NULL: out of memory. */
struct write_sources *write_sources_new(write_source_own_fn *own, void *context);
void write_sources_free(struct write_sources *tracer); /* NULL is fine */

/* The mount is there, at that absolute path and with that device number. Before requests come;
 * nothing is traced otherwise. */
void write_sources_set_mount(struct write_sources *tracer, const char *point, dev_t device);

/* Note what the process or thread has open, and begin to find out what that is, with the rights of
 * that user where we are root. NULL: out of memory. */
struct write_source *write_source_begin(struct write_sources *tracer, pid_t pid, uid_t uid,
					gid_t gid);
struct write_source *write_source_ref(struct write_source *trace);
void write_source_unref(struct write_source *trace); /* NULL is fine */

/* The donor of what was written, size bytes: the one file that is as long; to release with
 * donor_unref(). The file of this mount with the inode number target is not it: it is what was
 * written over, which rsync has open too. Waits, but not for longer than some seconds. NULL: not
 * known. */
struct donor *write_source_donor(struct write_source *trace, uint64_t size, uint64_t target);

#endif

/* SPDX-License-Identifier: MIT */
/* trace.h - where the bytes that a process writes come from, as far as that shows: cp and its like
 * have their source open while they write.
 *
 * 1. What is open is noted before the first write is answered, for afterwards it may be closed.
 * 2. Whose filesystem may hang is asked on a thread of its own, that is waited for a little and
 *    then never again.
 * 3. Our own mount is never asked through the kernel. */
#ifndef FS_TRACE_H
#define FS_TRACE_H

#include "fs/layer/donor.h"

#include <sys/types.h>

struct tracer; /* of a mount; any thread may use it */
struct trace;  /* counted; any thread may use it */

/* The donor of the file of this mount with that inode number, and its size; NULL: not known. */
typedef struct donor *trace_own(void *context, uint64_t ino, uint64_t *size);

/* own is called while a trace begins. NULL: out of memory. */
struct tracer *tracer_new(trace_own *own, void *context);
void tracer_free(struct tracer *tracer); /* NULL is fine */

/* The mount is there, at that absolute path and with that device number. Before requests come;
 * nothing is traced otherwise. */
void tracer_mounted(struct tracer *tracer, const char *point, dev_t device);

/* Note what the process or thread has open, and begin to find out what that is, with the rights of
 * that user where we are root. NULL: out of memory. */
struct trace *trace_begin(struct tracer *tracer, pid_t pid, uid_t uid, gid_t gid);
struct trace *trace_ref(struct trace *trace);
void trace_unref(struct trace *trace); /* NULL is fine */

/* The donor of what was written, size bytes: the one file that is as long; to release with
 * donor_unref(). The file of this mount with the inode number target is not it: it is what was
 * written over, which rsync has open too. Waits, but not for longer than some seconds. NULL: not
 * known. */
struct donor *trace_donor(struct trace *trace, uint64_t size, uint64_t target);

#endif

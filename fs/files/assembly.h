/* SPDX-License-Identifier: MIT */
/* assembly.h - assemblies of a mount, by a write to .assemble and at the unmount. */
#ifndef FS_FILES_ASSEMBLY_H
#define FS_FILES_ASSEMBLY_H

#include "fs/assemble/atomic_write.h"

#include <limits.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct model;
struct snapshot;
struct view;

struct assembly; /* any thread may use it, except where noted */

/* output: the file that the unmount writes or replaces; NULL: a free default name in directory,
 * which if NULL is the base's. All are borrowed. NULL: out of memory. */
struct assembly *assembly_new(struct model *model, const char *output, const char *directory);
void assembly_free(struct assembly *assembly);

/* Set the device number of the mount, and its n models, which are borrowed: no target may lie in
 * the mount or be the base of a model. Call before requests come. */
void assembly_set_mount(struct assembly *assembly, dev_t mount, struct model *const *models,
			uint32_t n);

/* The daemon may write into few directories only: say so after EACCES. Call before requests
 * come. */
void assembly_set_confined(struct assembly *assembly);

/* Assemble the current model. path is the target, "" the default one, or shards as
 * split_write_parse() has them; a relative path starts in the working directory of the process
 * caller, 0 if there is none. cancel stops the assembly from another thread. Returns 0 or -errno;
 * .assemble and the log have the outcome. Callers let one assembly run at a time (fifo_lock.h). */
int assembly_run(struct assembly *assembly, const char *path, enum write_replace replace,
		 pid_t caller, atomic_bool *cancel);

/* Assemble at the unmount if there are grafts, unless a file of the current model is already there:
 * assembled since the last change, unchanged, and where output= or directory= wants it, if given.
 * Returns as assembly_run(): 0 also if there was nothing to write, and 1 if the model is written,
 * but .check calls it impossible. */
int assembly_run_at_unmount(struct assembly *assembly);

/* Would assembly_run_at_unmount() write that snapshot of the model now? Then *size is the bytes of
 * the new model, 0: it cannot be assembled, and path the file or shards. Waits for disks. */
bool assembly_forecast(struct assembly *assembly, const struct snapshot *snapshot, uint64_t *size,
		       char path[PATH_MAX]);

/* After a result of 1: the file and the first reason, one line to free. NULL: out of memory. */
char *assembly_impossible(struct assembly *assembly);

/* Make the running assembly, and each later one, end with -EINTR. */
void assembly_cancel(struct assembly *assembly);

/* Progress of the running assembly. False: none is writing. */
struct assembly_progress {
	uint64_t done, total; /* bytes */
	double seconds;	      /* since the first byte */
};
bool assembly_progress(struct assembly *assembly, struct assembly_progress *progress);

/* Keep assembled files open from now on, for assembly_view(). Call before requests come. */
void assembly_keep(struct assembly *assembly);

/* The last assembled file as one extent. NULL if it does not hold the model of that generation, has
 * no grafts, or was moved or changed. If the file changes later, the view reads from instead, which
 * becomes the view's if there is one. */
struct view *assembly_view(struct assembly *assembly, uint64_t generation, struct view *instead);

/* A number that changes whenever assembly_view() may have another answer. */
uint64_t assembly_view_generation(struct assembly *assembly);

/* Whether the text is one that .assemble of some mount shows, and so no file name. */
bool assembly_is_status(const char *text, size_t n);

/* Text of .assemble about the running or last assembly: *size bytes to free, NULL: out of memory.
 * The generation changes whenever the text does. */
char *assembly_status(struct assembly *assembly, size_t *size);
uint64_t assembly_status_generation(struct assembly *assembly);

#endif

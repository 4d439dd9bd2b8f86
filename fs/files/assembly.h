/* SPDX-License-Identifier: MIT */
/* assembly.h - assemblies of a mount: the file .assemble, and the unmount's. */
#ifndef FS_FILES_ASSEMBLY_H
#define FS_FILES_ASSEMBLY_H

#include "fs/assemble/atomic_write.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct model;
struct view;

struct assembly; /* any thread may use it, but where something else is said */

/* Where the unmount writes: output, or where that is NULL, a default name in directory, where that
 * is NULL too, beside the base. All are borrowed. NULL: out of memory. */
struct assembly *assembly_new(struct model *model, const char *output, const char *directory);
void assembly_free(struct assembly *assembly);

/* The mount is there, with that device number: no target may lie in it, or be the base of one of
 * its n models, which are borrowed. Before requests come. */
void assembly_set_mount(struct assembly *assembly, dev_t mount, struct model *const *models,
			uint32_t n);

/* The daemon may write in few directories: where it may not, the outcome says so. Before requests
 * come. */
void assembly_set_confined(struct assembly *assembly);

/* Assemble the model as it is now. path is the target, "" the default one, or shards as
 * split_write_parse() has them; a relative path starts from the working directory of the process
 * caller, 0 if there is none. cancel stops it from another thread. Returns 0 or -errno, with the
 * outcome in the text and the model's log. One at a time, as the caller sees to (fifo_lock.h). */
int assembly_run(struct assembly *assembly, const char *path, enum write_replace replace,
		 pid_t caller, atomic_bool *cancel);

/* The unmount's: where there are grafts, unless they were assembled since the last change, and what
 * was written is still there: to any name, but where output or directory was given to that file, or
 * into that directory. Returns as assembly_run(), 0 too if there was nothing to write, and 1 if
 * the model is written, but is impossible by .check. */
int assembly_run_at_unmount(struct assembly *assembly);

/* After the result 1: the file and the first reason, in a line to free. NULL: out of memory. */
char *assembly_impossible(struct assembly *assembly);

/* The assembly under way, and each that would begin later, ends with -EINTR. */
void assembly_cancel(struct assembly *assembly);

/* How far the one under way is. False: none is, or it has not come to writing yet. */
struct assembly_progress {
	uint64_t done, total; /* bytes */
	double seconds;	      /* since the first byte */
};
bool assembly_progress(struct assembly *assembly, struct assembly_progress *progress);

/* Keep the assembled file open from now on, for assembly_view(). Before requests come. */
void assembly_keep(struct assembly *assembly);

/* The last file that was assembled, as one extent, if it holds the model of that generation, with
 * grafts, and is still where it was put and what it was; NULL if not. Should it change later, its
 * bytes are read from instead, which becomes the view's if there is one. */
struct view *assembly_view(struct assembly *assembly, uint64_t generation, struct view *instead);

/* Moves when assembly_view() may have another answer. */
uint64_t assembly_view_generation(struct assembly *assembly);

/* Is it a text that some .assemble shows, and so no file name? */
bool assembly_is_status(const char *text, size_t n);

/* What the last assembly did or the one under way is doing, as .assemble says it: *size bytes to
 * free, NULL: out of memory. The stamp moves whenever the text does. */
char *assembly_status(struct assembly *assembly, size_t *size);
uint64_t assembly_status_generation(struct assembly *assembly);

#endif

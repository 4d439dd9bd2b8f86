/* SPDX-License-Identifier: MIT */
/* atomic_write.h - a view written out as a file.
 *
 * 1. The target is as it was, or it is whole and durable: the bytes go into a temporary file beside
 *    it, which is made durable and then renamed.
 * 2. A failed or interrupted assembly removes its temporary file. One that was killed leaves it,
 *    and the next assembly into the same directory removes it.
 * 3. The base is never a target. */
#ifndef FS_ASSEMBLE_ATOMIC_WRITE_H
#define FS_ASSEMBLE_ATOMIC_WRITE_H

#include "fs/assemble/written_files.h"
#include "fs/base/shards.h"
#include "fs/storage/view.h"
#include "fs/util/progress.h"

#include <stdbool.h>

struct write_target {
	int directory; /* that a relative path starts from; AT_FDCWD for an absolute one */
	const char *path;
	bool replace;		     /* an existing file; without it that is -EEXIST */
	const struct stat *base;     /* what must not be overwritten */
	const struct shards *shards; /* nor these; NULL: there are none */
	dev_t mount; /* what must not be written into: the mount's own device; 0: none */
	struct backing **written; /* NULL, or where to put the new file, opened for reading; NULL
				   * there where it cannot be opened */
	struct written_files *record; /* NULL, or what each file that is in place is added to */
	bool *placed; /* NULL, or set where the new file is in place though it failed: nobody knows
			 whether it would be after a power cut */
	bool swept;   /* what killed assemblies left in its directory is removed already */
};

/* Could the target be written? Returns 0 or what atomic_write_view() would say of the target and
 * its directory. */
int atomic_write_check(const struct write_target *target, struct error *err);

/* Write the view to the target. Returns 0 or -errno with err set: EINTR cancelled, EBUSY another
 * assembly to this target is under way, ENOSPC, EISDIR, EINVAL the target is the base, no regular
 * file, or in the mount itself, and what else the disk says. */
int atomic_write_view(struct view *view, const struct write_target *target,
		      struct progress *progress, struct error *err);

/* The same in steps, for several targets that are to be there together. Their directory is opened,
 * to close when all have come to their end. The bytes are durable under another name; they are put
 * in the target's place, after which none of an older file is left; and the end, where a target
 * that was put in place stays or is removed again. The progress is not begun anew. Each that is
 * begun has a descriptor until its end. A descriptor, NULL or -errno, with err set as above. */
struct atomic_write;
int atomic_write_open_directory(const struct write_target *target, struct error *err);
struct atomic_write *atomic_write_begin(struct view *view, const struct write_target *target,
					int directory, struct progress *progress,
					struct error *err);
int atomic_write_commit(struct atomic_write *assembling, struct error *err);
void atomic_write_end(struct atomic_write *assembling, bool stays);

#endif

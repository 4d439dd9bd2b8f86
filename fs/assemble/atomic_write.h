/* SPDX-License-Identifier: MIT */
/* atomic_write.h - views written out as files.
 *
 * 1. A target is as it was, or it is whole and durable: the bytes go into a temporary file beside
 *    it, which is made durable and then renamed; then its directory is made durable.
 * 2. Of several files all are durable under other names before the first is renamed. They are
 *    renamed from the last to the first; where one cannot be, those that were are removed again.
 * 3. A temporary file is locked as long as it is written. One that is not locked was left by an
 *    assembly that was killed, and the next one into the same directory removes it; a failed or
 *    interrupted assembly removes its own.
 * 4. The base is never a target, no target lies in the mount itself, and none is a file that
 *    another mount uses (file_use.h).
 * 5. Each file that is written has the extended attribute ATOMIC_WRITE_MARK, where the filesystem
 *    has such, with its size and mtime: as long as these are its own, a later assembly may replace
 *    the file. */
#ifndef FS_ASSEMBLE_ATOMIC_WRITE_H
#define FS_ASSEMBLE_ATOMIC_WRITE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#define ATOMIC_WRITE_MARK "user.organfs.assembled"

struct error;
struct progress;
struct view;

/* Which existing file an assembly may replace; another one is refused with -EEXIST. */
enum write_replace {
	REPLACE_NONE,
	REPLACE_MARKED, /* one that an assembly wrote, unchanged since */
	REPLACE_ANY,
};

/* The files that an assembly wrote: where they are, and whether they are there yet. Zeros are
 * none. */
struct written_files {
	size_t n;
	bool unknown; /* one could not be noted */
	struct written_file {
		char *path; /* absolute */
		struct stat stat;
	} * files; /* n of them, as they were added */
};

/* One more, which is open as fd and has that name in the open directory. Where that cannot be
 * noted, written_files_exist() is false from then on. */
void written_files_add(struct written_files *written, int directory, const char *name, int fd);

/* Is there at least one, and is each what it was, under its name, as far as inode, size and times
 * tell? */
bool written_files_exist(const struct written_files *written);

/* None are there any more. */
void written_files_release(struct written_files *written);

struct write_target {
	int directory; /* that a relative path starts from; AT_FDCWD for an absolute one */
	const char *path;
	enum write_replace replace;
	const struct stat *base;     /* what must not be overwritten */
	const struct shards *shards; /* nor these; NULL: there are none */
	dev_t mount; /* what must not be written into: the mount's own device; 0: none */
	struct backing **written; /* NULL, or where to put the new file, opened for reading; NULL
				   * there where it cannot be opened. Of one file alone */
	struct written_files *record; /* NULL, or what each file that is in place is added to */
	bool *placed; /* NULL, or set where the new file is in place though it failed: it is not
		       * known whether it would be after a power cut */
	bool several; /* files of several names, none of which is replaced, as the error says */
	/* Is that file another one that must not be replaced? NULL: there is none. */
	bool (*is_other_base)(const void *context, const struct stat *stat);
	const void *context;
};

/* Could the target be written? Returns 0 or what atomic_write_view() would say of the target and
 * its directory. */
int atomic_write_check(const struct write_target *target, struct error *err);

/* Write the view to the target. Returns 0 or -errno with err set: EINTR cancelled, EBUSY another
 * assembly to this target is under way, or a mount uses it, EEXIST, ENOSPC, EISDIR, EINVAL the
 * target is the base, no regular file, or in the mount itself, and what else the disk says. */
int atomic_write_view(struct view *view, const struct write_target *target,
		      struct progress *progress, struct error *err);

/* The same for several files that are to be there together, in the directory of the target's path;
 * the name in that counts for nothing. Each has a descriptor until all are there. */
struct write_file {
	char *path;
	struct view *view;
};
int atomic_write_files(const struct write_file *files, uint32_t n,
		       const struct write_target *target, struct progress *progress,
		       struct error *err);

#endif

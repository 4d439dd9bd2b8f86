/* SPDX-License-Identifier: MIT */
/* atomic_write.h - views written out as files.
 *
 * 1. A target stays as it was, or is whole, and durable if the write succeeded: the bytes are
 *    written to a temporary file beside it, synced, and renamed; then the directory is synced.
 * 2. Several files are all durable under temporary names before the first rename. They are renamed
 *    from the last to the first; if one rename fails, the renamed ones are removed again.
 * 3. A temporary file is locked while it is written. An unlocked one was left by a killed assembly,
 *    and the next assembly into the same directory removes it; a failed or interrupted assembly
 *    removes its own.
 * 4. The base is never a target, nor is a file that another mount uses (file_use.h), and no target
 *    lies in the mount itself.
 * 5. Each file written has the extended attribute ATOMIC_WRITE_MARK, if the filesystem has
 *    attributes, with its size and mtime: while these agree, a later assembly may replace it. */
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

/* Existing files that an assembly may replace; others are refused with -EEXIST. */
enum write_replace {
	REPLACE_NONE,
	REPLACE_MARKED, /* a file that an assembly wrote, unchanged since */
	REPLACE_ANY,
};

/* Record of the files that an assembly wrote, to find out whether they still exist. Zeros are
 * none. */
struct written_files {
	size_t n;
	bool unknown; /* a file could not be recorded */
	struct written_file {
		char *path; /* absolute */
		struct stat stat;
	} * files; /* n files, in the order of written_files_add() */
};

/* Record a file that is open as fd under that name in the open directory. If that fails,
 * written_files_exist() is false from then on. */
void written_files_add(struct written_files *written, int directory, const char *name, int fd);

/* Whether there are files, and all are unchanged under their names, by inode, size and times. */
bool written_files_exist(const struct written_files *written);

/* A copy of its own, in which written_files_exist() is false if there is no memory. */
struct written_files written_files_copy(const struct written_files *written);

/* Free the record. */
void written_files_release(struct written_files *written);

struct write_target {
	int directory; /* start of a relative path; AT_FDCWD for an absolute one */
	const char *path;
	enum write_replace replace;
	const struct stat *base;     /* the base, which must not be overwritten */
	const struct shards *shards; /* its shards, likewise; NULL: none */
	dev_t mount;		     /* device of the mount, in which no target may lie; 0: none */
	struct backing **written; /* NULL, or receives the (single) file, open to read, or NULL */
	struct written_files *record; /* NULL, or receives each file in place */
	bool *placed;	  /* NULL, or set if the file is in place but its rename not durable */
	bool several;	  /* for the error: several files, none of which is replaced */
	bool one_of_many; /* part of a tree: no mark; the caller cleans and makes it durable */
	/* Whether that file is another one that must not be replaced. NULL: no such files. */
	bool (*is_other_base)(const void *context, const struct stat *stat);
	const void *context;
};

/* Check whether the target could be written. Returns 0 or the errors of atomic_write_view() about
 * the target and its directory. */
int atomic_write_check(const struct write_target *target, struct error *err);

/* Remove the temporary files in the directory that no process writes any more. */
void atomic_write_clean(int directory);

/* Write the view to the target. Returns 0 or -errno with err set: EINTR cancelled; EBUSY another
 * process writes this target, or a mount uses it; EEXIST; ENOSPC; EISDIR; EINVAL the target is the
 * base, not a regular file, or in the mount itself; or another error of the disk. */
int atomic_write_view(struct view *view, const struct write_target *target,
		      struct progress *progress, struct error *err);

/* Write several files that become visible together, in the directory of the target's path, whose
 * name is ignored. Uses a descriptor for each file until all are in place. */
struct write_file {
	char *path;
	struct view *view;
};
int atomic_write_files(const struct write_file *files, uint32_t n,
		       const struct write_target *target, struct progress *progress,
		       struct error *err);

#endif

/* SPDX-License-Identifier: MIT */
/* scratch_files.h - names in directories that are no slots: what programs make beside the files
 * they are about to replace, organs that are written under a new name, and θ files that
 * were removed. They are private to the mount and gone with it.
 *
 * A file whose content has filled the slot or key of its name is placed: no lookup and no listing
 * finds it any more, but a process that has it open may write on, and close() puts that in force
 * under the name. Where the slot is moved the placed file goes with it; where the slot is emptied,
 * or another file is placed or made there, what it is written to goes nowhere. After the last close
 * it is over: a process that opens it then, by what it has looked up before, is told to look the
 * name up again. */
#ifndef FS_TREE_SCRATCH_FILES_H
#define FS_TREE_SCRATCH_FILES_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

struct file_name;
struct inode;
struct inodes;

struct scratch_files; /* any thread may use it */
struct scratch_file;

/* inodes is borrowed. NULL: out of memory. */
struct scratch_files *scratch_files_new(struct inodes *inodes);
void scratch_files_free(struct scratch_files *scratches);

enum scratch_kind {
	SCRATCH_NONE,
	SCRATCH_FILE,	/* a file of that name: an inode of FAMILY_SCRATCH or FAMILY_SCRATCH_LINK */
	SCRATCH_HIDDEN, /* the θ file of that name was removed */
};

/* What that name in a directory, which is given by its inode number, is. For SCRATCH_FILE, *inode
 * is set, to release with inodes_put(), unless inode is NULL. */
enum scratch_kind scratch_files_find(struct scratch_files *scratches, uint64_t directory,
				     const char *name, struct inode **inode);

/* Enter a name for an inode, of which the entry keeps a reference and whose stage it keeps open;
 * NULL hides the name. Returns 0, -EEXIST, -ENOMEM. */
int scratch_files_add(struct scratch_files *scratches, uint64_t directory, const char *name,
		      struct inode *inode);

/* An entry that is not in yet, of an inode, of which it keeps a reference and whose stage it keeps
 * open. To enter it, in place of what has that name, cannot fail; or drop it: NULL is fine there.
 * NULL: out of memory. */
struct scratch_file *scratch_files_prepare(struct scratch_files *scratches, uint64_t directory,
					   const char *name, struct inode *inode);
void scratch_files_enter(struct scratch_files *scratches, struct scratch_file *scratch);
void scratch_files_drop(struct scratch_files *scratches, struct scratch_file *scratch);

/* The name is not there any more, and what was placed under it is nowhere. False: it was not. */
bool scratch_files_remove(struct scratch_files *scratches, uint64_t directory, const char *name);

/* The same if it is inode's, which has a stage that no process has open, and the file is not placed
 * under it. */
void scratch_files_remove_file(struct scratch_files *scratches, const struct inode *inode,
			       const struct file_name *name);

/* No name in the directory is hidden any more. */
void scratch_files_unhide(struct scratch_files *scratches, uint64_t directory);

/* Give a name to another. What was there under the other one is gone. -ENOENT. */
int scratch_files_rename(struct scratch_files *scratches, uint64_t directory, const char *name,
			 uint64_t new_directory, const char *new_name);

/* The file of that name, if it is still inode, which has a stage, is placed under it. It stays
 * until scratch_files_closed() is called after the last close. */
void scratch_files_place(struct scratch_files *scratches, const struct inode *inode,
			 const struct file_name *name);

/* A process has closed the file, which has a stage. True: it was the last one, and the file is not
 * placed any more. */
bool scratch_files_closed(struct scratch_files *scratches, const struct inode *inode);

/* Is the file, which has a stage, over? To open it, one opens the stage before. */
bool scratch_files_is_over(struct scratch_files *scratches, const struct inode *inode);

/* What had one name, a slot or a file, is the slot or key of another. A file that was placed under
 * the one, or about to be, is placed under the other. What had that name before is gone. */
void scratch_files_follow(struct scratch_files *scratches, const struct file_name *from,
			  const struct file_name *to);

/* The name that an inode has now: the one that it was placed under last, or the first. False: none
 * any more. */
bool scratch_files_name(struct scratch_files *scratches, const struct inode *inode,
			uint64_t *directory, char name[NAME_MAX + 1]);

/* The first file in the directory whose number is at least *number, which is set to it. */
bool scratch_files_next(struct scratch_files *scratches, uint64_t directory, uint64_t *number,
			char name[NAME_MAX + 1], uint64_t *ino);

#endif

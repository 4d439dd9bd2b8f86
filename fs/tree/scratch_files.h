/* SPDX-License-Identifier: MIT */
/* scratch_files.h - names in directories that are no slots: what programs make beside the files
 * they are about to replace, organs that are written under a new name, and θ files that
 * were removed. They are private to the mount and gone with it.
 *
 * A file whose content has filled the slot or key of its name is in force: no lookup and no listing
 * finds it any more, a process that opens it by an earlier lookup is told to look the name up
 * again, and stage_is_over() is true, so that a write through a descriptor that is still open
 * fails. Only pages of a shared map still reach the stage; the release puts them in force under the
 * name, unless the slot was set aside, moved or removed. */
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

/* Remove the name, also of a file in force. False: no lookup could find it. */
bool scratch_files_remove(struct scratch_files *scratches, uint64_t directory, const char *name);

/* No name in the directory is hidden any more. */
void scratch_files_unhide(struct scratch_files *scratches, uint64_t directory);

/* Give a name to another. What was there under the other one is gone. -ENOENT. */
int scratch_files_rename(struct scratch_files *scratches, uint64_t directory, const char *name,
			 uint64_t new_directory, const char *new_name);

/* The file with the name from, if it is still inode, has filled the slot or key to, which may be
 * the same name: the file is in force, unless it has another name. Another file with the name to
 * loses that name. */
void scratch_files_place(struct scratch_files *scratches, const struct inode *inode,
			 const struct file_name *from, const struct file_name *to);

/* Has a process the file, which has a stage, open? */
bool scratch_files_is_open(struct scratch_files *scratches, const struct inode *inode);

/* Remove the name of the file, if it is still inode, which has a stage, and no process has it
 * open. */
void scratch_files_end(struct scratch_files *scratches, const struct inode *inode,
		       const struct file_name *name);

/* Is the file, which has a stage, in force, or was its last name removed by scratch_files_end()? To
 * open it, a thread opens the stage before it asks. */
bool scratch_files_is_over(struct scratch_files *scratches, const struct inode *inode);

/* The name that an inode has now, also in force; the first one of several. False: none any more. */
bool scratch_files_name(struct scratch_files *scratches, const struct inode *inode,
			uint64_t *directory, char name[NAME_MAX + 1]);

/* The first file in the directory whose number is at least *number, which is set to it. */
bool scratch_files_next(struct scratch_files *scratches, uint64_t directory, uint64_t *number,
			char name[NAME_MAX + 1], uint64_t *ino);

#endif

/* SPDX-License-Identifier: MIT */
/* scratch_files.h - names in directories that belong to no slot or key: files that programs make
 * beside those they are about to replace, organs written under a new name, and removed θ files.
 * They are private to the mount and gone with it.
 *
 * A file whose content has filled the slot or key of its name is in force. No lookup or listing
 * finds it any more; a process that opens it by an earlier lookup is told to look the name up
 * again; and stage_has_ended() is true, so that writes through open descriptors fail. Only pages of
 * a shared map still reach the stage; the release commits them under the name, unless the slot was
 * set aside, moved or removed. */
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
	SCRATCH_FILE,	/* an inode of FAMILY_SCRATCH or FAMILY_SCRATCH_LINK */
	SCRATCH_HIDDEN, /* the θ file of that name was removed */
};

/* Look up a name in the directory with that inode number. For SCRATCH_FILE sets *inode, to release
 * with inodes_put(), unless inode is NULL. */
enum scratch_kind scratch_files_find(struct scratch_files *scratches, uint64_t directory,
				     const char *name, struct inode **inode);

/* Enter a name for an inode; the entry keeps a reference and the stage open. inode NULL hides the
 * name. Returns 0, -EEXIST, -ENOMEM. */
int scratch_files_add(struct scratch_files *scratches, uint64_t directory, const char *name,
		      struct inode *inode);

/* Prepare an entry for an inode; it keeps a reference and the stage open. Then enter it, in place
 * of any entry of that name, which cannot fail; or drop it (NULL is fine). NULL: out of memory. */
struct scratch_file *scratch_files_prepare(struct scratch_files *scratches, uint64_t directory,
					   const char *name, struct inode *inode);
void scratch_files_enter(struct scratch_files *scratches, struct scratch_file *scratch);
void scratch_files_drop(struct scratch_files *scratches, struct scratch_file *scratch);

/* Remove the name, also of a file in force. False: no lookup would have found it. */
bool scratch_files_remove(struct scratch_files *scratches, uint64_t directory, const char *name);

/* End the hiding of all names in the directory. */
void scratch_files_unhide(struct scratch_files *scratches, uint64_t directory);

/* Rename, replacing the new name's entry. -ENOENT. */
int scratch_files_rename(struct scratch_files *scratches, uint64_t directory, const char *name,
			 uint64_t new_directory, const char *new_name);

/* Record that inode, if it still has the name from, has filled the slot or key to, perhaps of the
 * same name: the file is in force unless it has another name. Another file with the name to loses
 * that name. */
void scratch_files_place(struct scratch_files *scratches, const struct inode *inode,
			 const struct file_name *from, const struct file_name *to);

/* Does any process have the file open? The file must have a stage. */
bool scratch_files_is_open(struct scratch_files *scratches, const struct inode *inode);

/* Remove the file's name, if it is still inode's and no process has the file open. The file must
 * have a stage. */
void scratch_files_end(struct scratch_files *scratches, const struct inode *inode,
		       const struct file_name *name);

/* Is the file in force, or was its last name removed by scratch_files_end()? The file must have a
 * stage. A thread that opens the file opens the stage before it asks. */
bool scratch_files_has_ended(struct scratch_files *scratches, const struct inode *inode);

/* Current name of an inode, also in force; the first of several. False: none. */
bool scratch_files_name(struct scratch_files *scratches, const struct inode *inode,
			uint64_t *directory, char name[NAME_MAX + 1]);

/* First file in the directory whose number is at least *number; sets *number to it. */
bool scratch_files_next(struct scratch_files *scratches, uint64_t directory, uint64_t *number,
			char name[NAME_MAX + 1], uint64_t *ino);

#endif

/* SPDX-License-Identifier: MIT */
/* tree.h - the mount as seen by the families of files, and functions that several families
 * share. */
#ifndef FS_TREE_TREE_H
#define FS_TREE_TREE_H

#include "fs/tensor/organ_views.h"
#include "fs/tree/inodes.h"
#include "fs/tree/model_files.h"
#include "fs/tree/models_root.h"

#include <limits.h>
#include <sys/types.h>

struct listed;

/* Set once; all pointers are borrowed from the mount. */
struct tree {
	struct inodes *inodes;
	struct scratch_files *scratches;
	struct name_locks *names;
	struct models_root *overview;	 /* NULL: the only model is the root */
	struct model_files *model_files; /* by model number */
	uint32_t n_models;		 /* named on the command line */
	bool read_only, list_views;
	const char *donors; /* directories of donors, separated by ':'; NULL: none */
	dev_t device;	    /* of the mount, 0: not known; set before the first request */
};

static inline struct generated *tree_generated(const struct tree *tree, const struct inode *inode)
{
	return inode->model ? tree->model_files[inode->model->number].generated
			    : models_root_generated(tree->overview);
}

/* May the model (NULL: the mount) be changed? */
static inline bool tree_can_graft(const struct tree *tree, const struct model *model)
{
	return !tree->read_only && (!model || model->whole);
}

/* Look up a name in a directory: the inode, to release with inodes_put(). Makes a generated file.
 * NULL with *rc set: -ENOENT, -ENOMEM, or why the file cannot be made. */
struct inode *tree_find(const struct tree *tree, const struct inode *directory, const char *name,
			int *rc);

/* A name in a directory, by its number. */
struct tree_name {
	uint64_t directory;
	const char *name;
	char text[NAME_MAX + 1]; /* buffer of tree_place() for name */
};

/* Translate a name in a block's directory into that in the class. False: the name would be too
 * long. */
bool tree_place(const struct tree *tree, struct tree_name *place);

/* Keep a block's directory, also without an organ, until rmdir(2). */
void tree_keep_block(const struct tree *tree, uint64_t directory);

/* Entry in a class for a tensor's organ or θ file. False: the slot is empty. */
bool tree_list_organ(struct model *model, bool theta, uint32_t tensor, struct listed *entry);

/* Length of name without ".bin"; 0: the name has another ending or nothing before ".bin". */
size_t tree_slot_name(const char *name);

/* Is it the name of a link or setting in the directory of adapters, or of the importance matrix
 * outside of classes? */
bool tree_is_adapter_name(uint64_t directory, const char *name);

/* Inode of such a file. NULL: there is none, or with *rc set. */
struct inode *tree_find_adapter(const struct tree *tree, const struct inode *directory,
				const char *name, int *rc);

/* Is it the inode number of a metadata directory, whose keys can be changed? */
bool tree_is_metadata(uint64_t ino);

/* Name of a class or metadata directory, and its number for model_send_directory_time(). */
const char *tree_title(uint64_t ino);
unsigned tree_time_number(uint64_t ino);

/* Does the name denote a slot, key or adapter? */
bool tree_is_named(const struct model *model, uint64_t directory, const char *name);

/* Fill the slot, key or adapter of that name with a scratch file's content or link. Returns 0 or
 * -errno. */
int tree_fill(const struct inode *inode, uint64_t directory, const char *name);

/* New inode of FAMILY_SINK, to release. NULL: out of memory. */
struct inode *tree_make_sink(const struct tree *tree, struct model *model);

/* New inode for writing in place of the inode over; the stage shows view, which is used up. NULL:
 * out of memory. */
struct inode *tree_make_stage(const struct tree *tree, enum family_number family,
			      const struct inode *over, struct view *view);

/* Is it a θ file's name, under which writes are dropped? A removed name is there again
 * afterwards. */
bool tree_is_dropped(const struct tree *tree, const struct inode *directory, const char *name);

/* New scratch file that shows view, which is used up (NULL: out of memory), entered under name in
 * directory (NULL: without a name); to release. NULL with *rc set. */
struct inode *tree_make_scratch(const struct tree *tree, const struct inode *directory,
				const char *name, struct view *view, int *rc);

/* Like tree_make_scratch(), with an organ's content, which is not copied. */
struct inode *tree_keep_as_scratch(const struct tree *tree, const struct inode *directory,
				   const char *name, const struct inode *organ, int *rc);

/* May a private file of that name hold any bytes? In metadata, or with a temporary name or that of
 * a θ file without organ. */
bool tree_holds_anything(uint64_t directory, const char *name);

/* Check that a scratch file may have that name: unless tree_holds_anything(), the file must be an
 * organ or empty, because other bytes would be lost at the unmount. Reads the staged bytes. Returns
 * 0, or -errno with a line in the log: EINVAL no organ. */
int tree_check_private(const struct inode *inode, uint64_t directory, const char *name);

/* Like scratch_files_next(), for files whose content is lost at the unmount. */
bool tree_next_private(const struct tree *tree, uint64_t directory, uint64_t *number,
		       char name[NAME_MAX + 1]);

/* New symbolic link outside of slots with that content, which is used up, entered under name in
 * directory (NULL: without a name); to release. NULL with *rc set. */
struct inode *tree_make_link(const struct tree *tree, const struct inode *directory,
			     const char *name, struct content *content, int *rc);

/* Entry of the first scratch file from *place on that is_listed() does not report as listed before;
 * sets *place to it. */
bool tree_list_scratch(const struct tree *tree, const struct inode *directory,
		       bool (*is_listed)(const struct inode *directory, const char *name),
		       uint64_t *place, struct listed *entry);

/* Inode number of the parent directory. */
uint64_t tree_parent(const struct tree *tree, const struct inode *directory);

/* Path of a directory below the root of its model, into text of n bytes; "" for a root. */
void tree_path(const struct inode *directory, char *text, size_t n);

/* Location of the organ that an inode shows. */
struct organ_location tree_locate(const struct inode *inode);

#endif

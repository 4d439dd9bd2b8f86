/* SPDX-License-Identifier: MIT */
/* tree.h - what the families of files need of the mount that they are in, and what they share. */
#ifndef FS_TREE_TREE_H
#define FS_TREE_TREE_H

#include "fs/tensor/organ_views.h"
#include "fs/tree/inodes.h"
#include "fs/tree/model_files.h"
#include "fs/tree/models_root.h"

#include <limits.h>
#include <sys/types.h>

struct listed;

/* Set once; all is borrowed from the mount. */
struct tree {
	struct inodes *inodes;
	struct scratch_files *scratches;
	struct name_locks *names;
	struct models_root *overview;	 /* NULL: there is only one model, as the root */
	struct model_files *model_files; /* by the numbers of their models */
	uint32_t n_models;		 /* that the command line named */
	bool read_only, list_views;
	const char *donors; /* directories of donors, with ':' between them; NULL: none */
	dev_t device;	    /* of the mount, 0: not known; set before requests come */
};

static inline struct generated *tree_generated(const struct tree *tree, const struct inode *inode)
{
	return inode->model ? tree->model_files[inode->model->number].generated
			    : models_root_generated(tree->overview);
}

/* May anything of that model, NULL: of the mount, be changed? */
static inline bool tree_can_graft(const struct tree *tree, const struct model *model)
{
	return !tree->read_only && (!model || model->whole);
}

/* The inode that a name in a directory stands for now, to release with inodes_put(). NULL with *rc
 * set: -ENOENT, -ENOMEM, or why a generated file cannot be made. This makes it. */
struct inode *tree_find(const struct tree *tree, const struct inode *directory, const char *name,
			int *rc);

/* A name in a directory, by its number. */
struct tree_name {
	uint64_t directory;
	const char *name;
	char text[NAME_MAX + 1]; /* for tree_place(), to which name points then */
};

/* The directory and the name become those of a class, if the directory is a block's. False: that
 * name would be too long. */
bool tree_place(const struct tree *tree, struct tree_name *place);

/* The directory, if it is a block's, stays until it is removed, also without an organ. */
void tree_keep_block(const struct tree *tree, uint64_t directory);

/* The entry in a class of that tensor's organ or θ file. False: the slot holds nothing. */
bool tree_list_organ(struct model *model, bool theta, uint32_t tensor, struct listed *entry);

/* "organs/blk_5_ffn_up" and the like: the length of name without ".bin", 0 if it has not that
 * ending or nothing before it. */
size_t tree_slot_name(const char *name);

/* In the directory of a model's adapters, does the name say that a file is no organ's? Or is it
 * that of the importance matrix, elsewhere than in a class? */
bool tree_is_adapter_name(uint64_t directory, const char *name);

/* The inode of such a file of the directory's model. NULL: there is none, or with *rc set. */
struct inode *tree_find_adapter(const struct tree *tree, const struct inode *directory,
				const char *name, int *rc);

/* Is that number a directory of metadata, in which keys can be changed? */
bool tree_is_metadata(uint64_t ino);

/* Of a directory that grafts are in: its name, and its number for model_send_directory_time(). */
const char *tree_title(uint64_t ino);
unsigned tree_time_number(uint64_t ino);

/* Does the name in that directory say where a file belongs: to a slot or key? */
bool tree_is_named(const struct model *model, uint64_t directory, const char *name);

/* What is in a scratch file, or where a link leads that is none of a slot's, is to fill the slot or
 * key of such a name, or become what an adapter has of it. Returns 0 or -errno. */
int tree_fill(const struct inode *inode, uint64_t directory, const char *name);

/* A new FAMILY_SINK, to release. NULL: out of memory. */
struct inode *tree_make_sink(const struct tree *tree, struct model *model);

/* A new inode over another, which shows view, released, for the caller to write in. NULL: out of
 * memory. */
struct inode *tree_make_stage(const struct tree *tree, enum family_number family,
			      const struct inode *over, struct view *view);

/* Is the name in that directory a θ file's, under which all that comes is dropped? One that was
 * removed is there again then. */
bool tree_is_dropped(const struct tree *tree, const struct inode *directory, const char *name);

/* The inode of a new scratch file that shows view, which is released, entered under a name in a
 * directory, NULL: without one; to release. NULL with *rc set. view NULL: out of memory. */
struct inode *tree_make_scratch(const struct tree *tree, const struct inode *directory,
				const char *name, struct view *view, int *rc);

/* The same of a file with what an organ holds, which is not copied. */
struct inode *tree_keep_as_scratch(const struct tree *tree, const struct inode *directory,
				   const char *name, const struct inode *organ, int *rc);

/* May a private file of that name hold anything? In metadata; else of a temporary name, and of a θ
 * file's whose organ is not there yet. */
bool tree_holds_anything(uint64_t directory, const char *name);

/* May the scratch file have that name in that directory? Of another name than those above it has to
 * be an organ, or empty: everything else would be lost at the unmount. Returns 0, or -errno with a
 * line in the log: EINVAL it is no organ. Reads what is staged. */
int tree_check_private(const struct inode *inode, uint64_t directory, const char *name);

/* The next file of the directory whose content is lost at the unmount, as scratch_files_next(). */
bool tree_next_private(const struct tree *tree, uint64_t directory, uint64_t *number,
		       char name[NAME_MAX + 1]);

/* The inode of a symbolic link that is no slot's, like that content, which becomes the inode's,
 * entered under a name in a directory, NULL: without one; to release. NULL with *rc set. */
struct inode *tree_make_link(const struct tree *tree, const struct inode *directory,
			     const char *name, struct content *content, int *rc);

/* The entry of a scratch file at that place or the next one after it, less those that is_listed
 * says come earlier in the listing; then *place moves on to it. */
bool tree_list_scratch(const struct tree *tree, const struct inode *directory,
		       bool (*is_listed)(const struct inode *directory, const char *name),
		       uint64_t *place, struct listed *entry);

/* The number of the directory above. */
uint64_t tree_parent(const struct tree *tree, const struct inode *directory);

/* What a slot of an inode holds, as that inode knows it. */
struct organ_location tree_locate(const struct inode *inode);

#endif

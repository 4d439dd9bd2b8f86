/* SPDX-License-Identifier: MIT */
/* ops_root.c - names where none can be made, as in the root: what is refused there, with a line in
 * the log that says what to do instead, and what is taken and dropped, so that `cp -r`, rsync and
 * `rm -r` of whole trees do what they can and end well. */
#include "fs/fuse/ops_async.h"
#include "fs/model/adapters.h"
#include "fs/model/inode.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

struct inode *ops_make_sink(struct mount *fs, struct model *model)
{
	struct inode made = { .ino = inode_new(model), .kind = NODE_SINK, .model = model };

	made.mtime = model_time(model);
	made.view = view_new(NULL, 0, NULL);
	return made.view ? inodes_add(fs->inodes, &made) : NULL;
}

uint64_t ops_generation(const struct inode *inode)
{
	return inode->kind == NODE_CLASS ? atomic_load(&inode->model->removed[inode->index]) : 0;
}

static bool ends_with(const char *name, const char *ending)
{
	const size_t n = strlen(name), m = strlen(ending);

	return n > m && strcmp(name + n - m, ending) == 0;
}

/* What to do instead of making a file or link of that name in a root. */
static const char *advice(const struct inode *directory, const char *name)
{
	if (directory->kind == NODE_MODELS)
		return "here are the directories of models; each has directories of its own for "
		       "organs, adapters and metadata";
	if (directory->kind != NODE_ROOT)
		return "what is here is made from the model and cannot be changed";
	if (ends_with(name, ".gguf"))
		return "an adapter (LoRA) is linked in adapters: ln -s /PATH/TO/FILE adapters/; a "
		       "donor is mounted beside: organfs FILE DIRECTORY";
	if (ends_with(name, ".bin") || ends_with(name, ".npy"))
		return "an organ goes into the directory of its class: skeleton, organs, embed or "
		       "norm";
	return "organs go into the directories of their classes, values into metadata, and other "
	       "files beside the mount";
}

int ops_refuse(struct mount *fs, fuse_ino_t ino, const char *name, enum refused what)
{
	static const char *const done[] = {
		[REFUSED_FILE] = "no file can be made here",
		[REFUSED_LINK] = "no link can be made here",
		[REFUSED_DIRECTORY] = "no directory can be made in a mount",
		[REFUSED_REMOVAL] = "it cannot be removed",
		[REFUSED_RENAME] = "it cannot be renamed",
	};
	struct inode *directory = inodes_get(fs->inodes, ino);
	const bool makes = what == REFUSED_FILE || what == REFUSED_LINK;
	const char *where = "", *instead = "the tree is as the model is";
	int rc = directory ? -EPERM : -ESTALE;

	if (directory && !ops_can_graft(fs, directory->model))
		rc = -EROFS;
	/* What desktops try everywhere is nothing that a user wants. */
	if (rc == -EPERM && !ops_is_desktop_file(name)) {
		if (directory->kind == NODE_CLASS)
			where = class_name((enum organ_class)directory->index);
		else if (directory->kind == NODE_METADATA)
			where = "metadata";
		if (makes)
			instead = advice(directory, name);
		log_add(directory->model ? directory->model->log : fs->log,
			"%s%s%s: refused: %s; %s", where, where[0] ? "/" : "", name, done[what],
			instead);
	}
	inodes_put(fs->inodes, directory);
	return rc;
}

/* The root of a model in which a name is to be made or to go. NULL: it is none. */
static struct inode *root_of(struct mount *fs, fuse_ino_t ino)
{
	struct inode *directory = inodes_get(fs->inodes, ino);

	if (directory && directory->kind == NODE_ROOT && ops_can_graft(fs, directory->model))
		return directory;
	inodes_put(fs->inodes, directory);
	return NULL;
}

/* Is it one of the files of a root, of n bytes? */
static bool is_generated(const char *name, size_t n)
{
	for (enum generated_kind kind = 0; kind < GENERATED_IN_ROOT; kind++)
		if (strlen(generated_name(kind)) == n &&
		    memcmp(name, generated_name(kind), n) == 0)
			return true;
	return false;
}

/* ".NAME.XXXXXX", as rsync calls what is to become NAME; ".NAME" has its dot already. */
static bool is_beside(const char *name)
{
	const size_t n = strlen(name);

	return name[0] == '.' && n > 8 && name[n - 7] == '.' &&
	       (is_generated(name + 1, n - 8) || is_generated(name, n - 7));
}

struct inode *ops_create_beside(struct mount *fs, fuse_ino_t ino, const char *name, int *rc)
{
	struct inode *root = is_beside(name) ? root_of(fs, ino) : NULL, *inode;

	if (!root) {
		*rc = ops_refuse(fs, ino, name, REFUSED_FILE);
		return NULL;
	}
	inode = ops_make_sink(fs, root->model);
	*rc = inode ? scratch_files_add(fs->scratches, ino, name, inode) : -ENOMEM;
	inodes_put(fs->inodes, root);
	if (*rc == 0)
		return inode;
	inodes_put(fs->inodes, inode);
	return NULL;
}

int ops_remove_beside(struct mount *fs, fuse_ino_t ino, const char *name)
{
	return scratch_files_remove(fs->scratches, ino, name)
		       ? 0
		       : ops_refuse(fs, ino, name, REFUSED_REMOVAL);
}

int ops_rename_beside(struct mount *fs, fuse_ino_t ino, const char *name, fuse_ino_t new_ino,
		      const char *new_name)
{
	if (ino == new_ino && is_generated(new_name, strlen(new_name)) &&
	    scratch_files_remove(fs->scratches, ino, name))
		return 0;
	return ops_refuse(fs, ino, name, REFUSED_RENAME);
}

/* Has the directory of a class nothing in it but the table? */
static bool is_empty(struct mount *fs, struct model *model, enum organ_class klass)
{
	uint64_t number = 0, ino;
	char name[NAME_MAX + 1];
	uint32_t tensor;
	bool nothing = true;

	for (uint32_t k = 0; nothing && model_class_slot(model, klass, k, &tensor); k++) {
		struct content *content = slots_own(model->slots, tensor);

		nothing = content_is_whiteout(content);
		content_unref(content);
	}
	return nothing && (klass != CLASS_ADAPTERS || !adapters_any(model)) &&
	       !scratch_files_next(fs->scratches, inode_of_directory(model, INODE_CLASS, klass),
				   &number, name, &ino);
}

/* The empty directory of a class is taken for removed, and there again at once, as another one to
 * the kernel, which marks the one that it removed as dead. */
static int remove_class(struct mount *fs, struct inode *directory)
{
	if (!is_empty(fs, directory->model, (enum organ_class)directory->index))
		return -ENOTEMPTY;
	atomic_fetch_add(&directory->model->removed[directory->index], 1);
	scratch_files_unhide(fs->scratches, directory->ino);
	return 0;
}

void op_rmdir(fuse_req_t req, fuse_ino_t parent, const char *name)
{
	struct mount *fs = mount_of(req);
	struct inode *root = root_of(fs, parent), *directory = NULL;
	int rc;

	if (root)
		directory = ops_find(fs, root, name, &rc);
	if (directory && directory->kind == NODE_CLASS)
		rc = remove_class(fs, directory);
	else
		rc = ops_refuse(fs, parent, name, REFUSED_REMOVAL);
	inodes_put(fs->inodes, directory);
	inodes_put(fs->inodes, root);
	fuse_reply_err(req, -rc);
}

void op_mkdir(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode)
{
	(void)mode;
	fuse_reply_err(req, -ops_refuse(mount_of(req), parent, name, REFUSED_DIRECTORY));
}

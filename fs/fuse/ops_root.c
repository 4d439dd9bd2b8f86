/* SPDX-License-Identifier: MIT */
/* ops_root.c - new, removed and renamed names in directories such as the root, which take none. A
 * refusal logs advice. Some names are accepted and their bytes discarded, so that `cp -r`, rsync
 * and `rm -r` of whole trees do all they can and succeed. */
#include "fs/fuse/ops.h"
#include "fs/model/adapters.h"
#include "fs/mount/mount.h"
#include "fs/tree/family.h"
#include "fs/tree/fresh_directories.h"
#include "fs/tree/generated.h"
#include "fs/tree/scratch_files.h"
#include "fs/tree/tree.h"
#include "fs/util/log.h"
#include "fs/util/temporary_name.h"

#include <errno.h>
#include <string.h>

int ops_refuse(struct mount *fs, fuse_ino_t ino, const char *name, enum refused what)
{
	static const char *const done[] = {
		[REFUSED_FILE] = "no file can be made here",
		[REFUSED_LINK] = "no link can be made here",
		[REFUSED_DIRECTORY] = "no directory can be made in a mount",
		[REFUSED_SPECIAL] = "no FIFO, socket or device can be made in a mount",
		[REFUSED_REMOVAL] = "it cannot be removed",
		[REFUSED_RENAME] = "it cannot be renamed",
	};
	struct inode *directory = inodes_get(fs->inodes, ino);
	const bool makes = what == REFUSED_FILE || what == REFUSED_LINK;
	const char *instead = "the model determines the files of its mount";
	char where[TITLE_MAX];
	int rc = directory ? -EPERM : -ESTALE;

	if (directory && !tree_can_graft(&fs->tree, directory->model))
		rc = -EROFS;
	/* No user asks for the names that desktops try in every directory. */
	if (rc == -EPERM && !ops_is_desktop_file(name)) {
		const struct family *family = family_of(directory);

		tree_path(directory, where, sizeof(where));
		if (makes && family->advice)
			instead = family->advice(name);
		log_add(directory->model ? directory->model->log : fs->log,
			"%s%s%s: refused: %s; %s", where, where[0] ? "/" : "", name, done[what],
			instead);
	}
	inodes_put(fs->inodes, directory);
	return rc;
}

/* The root of a writable model, to release; else NULL. */
static struct inode *root_of(struct mount *fs, fuse_ino_t ino)
{
	struct inode *directory = inodes_get(fs->inodes, ino);

	if (directory && directory->model && family_of(directory)->root &&
	    tree_can_graft(&fs->tree, directory->model))
		return directory;
	inodes_put(fs->inodes, directory);
	return NULL;
}

/* Whether the first n bytes of name are the name of a file of a root. */
static bool is_generated(const char *name, size_t n)
{
	for (enum generated_kind kind = 0; kind < GENERATED_ROOT_END; kind++)
		/* A file renamed to .merge is meant to be obeyed, not discarded. */
		if (kind != GENERATED_MERGE && strlen(generated_name(kind)) == n &&
		    memcmp(name, generated_name(kind), n) == 0)
			return true;
	return false;
}

/* Whether rsync will rename the file to one of a root. ".NAME" has its dot already. */
static bool is_beside(const char *name)
{
	const size_t n = temporary_name_of_rsync(name);

	return n && (is_generated(name + 1, n) || is_generated(name, n + 1));
}

/* The directory, to release, if it is writable and its family creates this name; else NULL. */
static struct inode *creating(struct mount *fs, fuse_ino_t ino, const char *name)
{
	struct inode *directory = inodes_get(fs->inodes, ino);
	const char *creates = directory ? family_of(directory)->creates : NULL;

	if (creates && strcmp(creates, name) == 0 && tree_can_graft(&fs->tree, directory->model))
		return directory;
	inodes_put(fs->inodes, directory);
	return NULL;
}

struct inode *ops_root_of_importance(struct mount *fs, fuse_ino_t ino, const char *name)
{
	return adapters_is_importance(name) && tree_is_adapter_name(ino, name) ? root_of(fs, ino)
									       : NULL;
}

struct inode *ops_find_created(struct mount *fs, fuse_ino_t ino, const char *name)
{
	struct inode *directory = creating(fs, ino, name), *inode = NULL;
	int rc;

	if (!directory)
		directory = ops_root_of_importance(fs, ino, name);
	if (directory)
		inode = tree_find(&fs->tree, directory, name, &rc);
	inodes_put(fs->inodes, directory);
	return inode;
}

struct inode *ops_create_beside(struct mount *fs, fuse_ino_t ino, const char *name, int *rc)
{
	struct inode *root = creating(fs, ino, name), *inode;

	if (root) {
		inode = family_of(root)->create(&fs->tree, root);
		*rc = inode ? 0 : -ENOMEM;
		inodes_put(fs->inodes, root);
		return inode;
	}
	root = is_beside(name) ? root_of(fs, ino) : NULL;
	if (!root) {
		*rc = ops_refuse(fs, ino, name, REFUSED_FILE);
		return NULL;
	}
	inode = tree_make_sink(&fs->tree, root->model);
	*rc = inode ? scratch_files_add(fs->scratches, ino, name, inode) : -ENOMEM;
	inodes_put(fs->inodes, root);
	if (*rc == 0)
		return inode;
	inodes_put(fs->inodes, inode);
	return NULL;
}

int ops_remove_beside(struct mount *fs, fuse_ino_t ino, const char *name)
{
	struct inode *directory;

	if (!scratch_files_remove(fs->scratches, ino, name))
		return ops_refuse(fs, ino, name, REFUSED_REMOVAL);
	directory = inodes_get(fs->inodes, ino);
	if (directory && family_of(directory)->link_removed)
		family_of(directory)->link_removed(&fs->tree, directory, name);
	inodes_put(fs->inodes, directory);
	return 0;
}

int ops_rename_beside(struct mount *fs, fuse_ino_t ino, const char *name, fuse_ino_t new_ino,
		      const char *new_name)
{
	const bool takes = ino == new_ino && is_generated(new_name, strlen(new_name));
	struct inode *root = takes ? root_of(fs, ino) : NULL;
	const bool taken = root && scratch_files_remove(fs->scratches, ino, name);

	inodes_put(fs->inodes, root);
	return taken ? 0 : ops_refuse(fs, ino, name, REFUSED_RENAME);
}

void op_rmdir(fuse_req_t req, fuse_ino_t parent, const char *name)
{
	struct mount *fs = mount_of(req);
	struct inode *directory = NULL, *above = inodes_get(fs->inodes, parent);
	int rc;

	if (above && tree_can_graft(&fs->tree, above->model))
		directory = tree_find(&fs->tree, above, name, &rc);
	if (directory && family_of(directory)->remove_directory)
		rc = family_of(directory)->remove_directory(&fs->tree, directory);
	else
		rc = ops_refuse(fs, parent, name, REFUSED_REMOVAL);
	inodes_put(fs->inodes, directory);
	inodes_put(fs->inodes, above);
	fuse_reply_err(req, -rc);
}

void op_mkdir(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode)
{
	struct mount *fs = mount_of(req);
	struct inode *directory = NULL, *above = inodes_get(fs->inodes, parent);
	int rc;

	(void)mode;
	if (above && family_of(above)->make_directory && tree_can_graft(&fs->tree, above->model))
		directory = family_of(above)->make_directory(&fs->tree, above, name, &rc);
	else
		rc = ops_refuse(fs, parent, name, REFUSED_DIRECTORY);
	if (directory && directory->part)
		fresh_directories_add(fs->fresh, directory->ino, true, fuse_req_ctx(req)->pid);
	inodes_put(fs->inodes, above);
	ops_reply_entry(req, directory, rc);
}

/* SPDX-License-Identifier: MIT */
/* directory_notes.c - see directory_notes.h. */
#include "fs/fuse/directory_notes.h"
#include "fs/fuse/ops.h"
#include "fs/model/inode.h"

static uint64_t directory_of(const struct model *model, unsigned directory)
{
	if (directory == MODEL_METADATA)
		return inode_of_directory(model, INODE_METADATA, 0);
	return inode_of_directory(model, INODE_CLASS, directory);
}

/* An answer with the old attributes that comes behind this is not taken: the kernel counts what it
 * was told meanwhile (attr_version in Linux's fs/fuse/inode.c). With an offset below zero no page
 * is dropped and no lock of the directory is taken, which the process that waits for this thread
 * may hold. The kernel may not know the directory (ENOENT), and the mount may be gone (EBADF,
 * ENODEV). */
static void tell_changed(void *context, struct model *model)
{
	const struct directory_notes *notes = context;

	for (unsigned i = 0; i < MODEL_DIRECTORIES; i++) {
		if (!model_directory_changed(model, i))
			continue;
		/* The connection is not closed meanwhile. */
		pthread_rwlock_rdlock(&notes->fs->answering);
		fuse_lowlevel_notify_inval_inode(notes->session, directory_of(model, i), -1, 0);
		pthread_rwlock_unlock(&notes->fs->answering);
	}
}

void directory_notes_begin(struct directory_notes *notes)
{
	notes->fs->listener = (struct model_listener){ tell_changed, notes };
}

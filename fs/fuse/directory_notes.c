/* SPDX-License-Identifier: MIT */
/* directory_notes.c - see directory_notes.h.
 *
 * The kernel drops an answer to a GETATTR that it sent before its last change of the attributes,
 * which a notice is (attr_version in Linux's fs/fuse/inode.c): an answer with the old time that
 * comes behind the notice does no harm. It takes the answer to a SETATTR, and to a LOOKUP that
 * makes the inode, in any case: those hold for no time (op_setattr()) and a tick (ops_entry()).
 *
 * libfuse forbids the notice while a process waits for the answer to an unlink(), rename() or the
 * like, as the kernel would lock what that process has locked. With an offset below zero it drops
 * no page, and locks nothing of the directory. */
#include "fs/fuse/directory_notes.h"
#include "fs/fuse/ops.h"
#include "fs/fuse/pollers.h"
#include "fs/model/model.h"
#include "fs/mount/mount.h"
#include "fs/util/log.h"

/* The kernel may not know the directory (ENOENT), and the mount may be gone (ENODEV). */
static void notify(void *context, uint64_t ino)
{
	const struct mount *fs = context;

	fuse_lowlevel_notify_inval_inode(fs->session, ino, -1, 0);
}

/* With the lock of a log held. */
static void tell_logged(void *context)
{
	struct mount *fs = context;

	pollers_tell(&fs->pollers);
}

/* Not with answering locked, which is locked before the lock of a stage that a commit holds. */
static void tell_changed(void *context, struct model *model)
{
	struct mount *fs = context;

	pthread_rwlock_rdlock(&fs->session_lock);
	if (fs->session)
		model_tell_directories(model, notify, fs);
	pthread_rwlock_unlock(&fs->session_lock);
	pollers_tell(&fs->pollers);
}

void directory_notes_begin(struct mount *fs, struct fuse_session *session)
{
	fs->session = session;
	fs->listener = (struct model_listener){ tell_changed, fs };
	log_set_listener(fs->log, tell_logged, fs);
}

/* What is told while libfuse closes the connection would go elsewhere (serve() in session.c). */
void directory_notes_end(struct mount *fs)
{
	pthread_rwlock_wrlock(&fs->session_lock);
	fs->session = NULL;
	pthread_rwlock_unlock(&fs->session_lock);
	log_set_listener(fs->log, NULL, NULL);
	pollers_clear(&fs->pollers);
}

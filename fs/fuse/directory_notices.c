/* SPDX-License-Identifier: MIT */
/* directory_notices.c - see directory_notices.h.
 *
 * A notice raises the kernel's attr_version (Linux's fs/fuse/inode.c), and the kernel drops answers
 * to a GETATTR that it sent before. An answer with the old time that arrives after the notice is
 * therefore harmless. Answers to SETATTR, and to a LOOKUP that makes the inode, are taken in any
 * case, so they have a timeout of zero (op_setattr()) or one tick (ops_entry()).
 *
 * libfuse forbids the notice while a process waits for the answer to an unlink(), rename() or the
 * like, because the kernel would take a lock that this process holds. With an offset below zero the
 * kernel drops no page and takes no lock of the directory. */
#include "fs/fuse/directory_notices.h"
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

/* Call with the lock of a log held. */
static void tell_logged(void *context)
{
	struct mount *fs = context;

	pollers_tell(&fs->pollers);
}

/* Call without `answering`, which is locked before the lock of a stage, and a commit holds that. */
static void tell_changed(void *context, struct model *model)
{
	struct mount *fs = context;

	pthread_rwlock_rdlock(&fs->session_lock);
	if (fs->session)
		model_tell_directories(model, notify, fs);
	pthread_rwlock_unlock(&fs->session_lock);
	pollers_tell(&fs->pollers);
}

void directory_notices_begin(struct mount *fs, struct fuse_session *session)
{
	fs->session = session;
	fs->listener = (struct model_listener){ tell_changed, fs };
	log_set_listener(fs->log, tell_logged, fs);
}

/* No notice may be sent while libfuse closes the connection: the descriptor's number may be another
 * file's by then (serve() in session.c). */
void directory_notices_end(struct mount *fs)
{
	pthread_rwlock_wrlock(&fs->session_lock);
	fs->session = NULL;
	pthread_rwlock_unlock(&fs->session_lock);
	log_set_listener(fs->log, NULL, NULL);
	pollers_clear(&fs->pollers);
}

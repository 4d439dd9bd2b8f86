/* SPDX-License-Identifier: MIT */
/* fs.h - a mount: everything that hangs from the FUSE session. */
#ifndef FS_FS_H
#define FS_FS_H

#include "fs/edit/symlinks.h"
#include "fs/mount/models.h"
#include "fs/mount/options.h"
#include "fs/mount/reply_buffers.h"
#include "fs/mount/unmount_status.h"
#include "fs/paths/write_source.h"
#include "fs/storage/read_threads.h"
#include "fs/tree/model_files.h"
#include "fs/tree/models_root.h"
#include "fs/tree/open_files.h"
#include "fs/tree/scratch_files.h"
#include "fs/tree/write_opens.h"
#include "fs/util/fifo_lock.h"
#include "fs/util/in_flight.h"

struct fs {
	/* Set by fs_new() and not changed afterwards. */
	const struct options *options;
	struct log *log;
	struct collection *collection;
	struct mounted *mounted;   /* the models, by their numbers; there is room for more */
	atomic_uint n_mounted;	   /* more than the collection's n where shards have come or gone */
	pthread_mutex_t looking;   /* for shards; one at a time */
	struct timespec looked;	   /* when that was last begun; protected by looking */
	dev_t device;		   /* of the mount, 0: not known; set before requests come */
	struct overview *overview; /* NULL: there is only one, as the root */
	struct nodes *nodes;
	struct handles *handles;
	struct scratches *scratches;
	struct writers *writers;
	struct pending *emptied; /* keys that are about to be empty strings */
	struct buffers *buffers;
	struct readers *readers; /* threads that read from disks */
	struct pool *measurers;	 /* threads that measure */
	struct pool *hashers;	 /* threads that hash */
	struct pool *makers;	 /* reads that wait for them */
	struct pool *commits;	 /* grafts being made durable */
	struct pool *assemblies; /* whoever writes to .assemble */
	struct turns *turns;	 /* one of them at a time */
	struct pool *lookers;	 /* who waits for where links lead */
	struct pool *arrivals;	 /* who waits for whether shards have come; one at a time */
	struct links *links;
	struct pool *beginnings; /* first writes to a stage, that are traced */
	struct tracer *tracer;
	const struct status *status; /* the session's; NULL: there is none */
	/* A job holds it to read while it answers, the session to write while it closes the
	 * connection to the kernel. */
	pthread_rwlock_t answering;
};

/* Everything but the FUSE session. All are borrowed and outlive the fs. NULL: out of memory. */
struct fs *fs_new(const struct options *options, struct log *log, struct collection *collection);

/* What there is of a model of the mount's alone, as mounted_init(). */
int fs_mount_model(struct fs *fs, struct mounted *mounted, struct model *model);

/* End the measuring, and wait for the grafts and assemblies that still run. None may be begun
 * afterwards. */
void fs_settle(struct fs *fs);

void fs_free(struct fs *fs);

/* Model number i of those that the command line named, as it is now. */
static inline struct mounted *fs_now(const struct fs *fs, uint32_t i)
{
	return mounted_now(fs->mounted, i);
}

/* Are all shards of all models there? */
static inline bool fs_is_whole(const struct fs *fs)
{
	for (uint32_t i = 0; i < fs->collection->n; i++)
		if (!model_now(fs->collection->models[i])->whole)
			return false;
	return true;
}

/* The model that a node is of; not for nodes of the mount. */
static inline struct mounted *fs_mounted(struct fs *fs, const struct node *node)
{
	return &fs->mounted[node->model->number];
}

#endif

/* SPDX-License-Identifier: MIT */
/* mount.h - a mount: everything that hangs from the FUSE session. */
#ifndef FS_MOUNT_MOUNT_H
#define FS_MOUNT_MOUNT_H

#include "fs/mount/models.h"
#include "fs/mount/options.h"
#include "fs/storage/backing.h"
#include "fs/tree/model_files.h"
#include "fs/tree/tree.h"

struct mount {
	/* Set by mount_new() and not changed afterwards. */
	const struct options *options;
	struct log *log;
	struct models *models;
	struct model_files *model_files; /* the models, by their numbers; there is room for more */
	atomic_uint n_model_files;   /* more than the models's n where shards have come or gone */
	pthread_mutex_t shards_lock; /* for shards; one at a time */
	struct timespec shards_checked; /* when that was last begun; protected by shards_lock */
	dev_t device;			/* of the mount, 0: not known; set before requests come */
	struct models_root *overview;	/* NULL: there is only one, as the root */
	struct inodes *inodes;
	struct read_modes *read_modes;
	struct open_files *handles;
	struct pollers {
		pthread_mutex_t lock; /* protects the list, and each poller in it */
		struct poller *first;
	} pollers; /* of those; fuse/pollers.h */
	struct scratch_files *scratches;
	struct name_locks *names;
	struct tree tree; /* of these, for the families of files */
	struct write_opens *writers;
	struct fresh_directories *fresh;
	struct in_flight *emptied; /* keys that are about to be empty strings */
	struct reply_buffers *buffers;
	struct read_threads *read_threads; /* threads that read from disks */
	struct pool *measurers;		   /* threads that measure */
	struct pool *hashers;		   /* threads that hash */
	struct pool *differs;		   /* threads that help readers of .diff */
	struct pool *computed_reads;	   /* reads that wait for them */
	struct pool *remote_reads;	   /* the same of what a server has, and of all models */
	struct pool *computed_rows;	   /* reads of tensors that are made of others */
	struct stop_flags *stop_reads;	   /* of those that run, and of words obeyed */
	struct pool *obeyed;		   /* words of .undo, .recipe and .merge */
	struct pool *commits;		   /* grafts being made durable */
	struct pool *assemblies;	   /* writes to .assemble */
	struct pool *opens;		   /* of files that the kernel may read by itself */
	struct fifo_lock *assembly_lock;   /* one of them at a time */
	struct pool *link_lookups;	   /* who waits for where links lead */
	struct pool *shard_checks; /* who waits for whether shards have come; one at a time */
	struct symlinks *links;
	struct model_listener listener; /* of all models; set before requests come */
	struct pool *first_writes;	/* first writes to a stage, that are traced */
	struct write_sources *tracer;
	const struct unmount_status *status; /* the session's; NULL: there is none */
	atomic_bool no_assembly; /* as the options say, until user.organfs.noassemble is set */
	int connection;	    /* to the kernel: the session's descriptor, set before requests come */
	bool kernel_passes; /* while INIT is answered: passthrough.c asks the kernel for it there */
	/* A job holds it to read while it answers, the session to write while it closes the
	 * connection to the kernel. */
	pthread_rwlock_t answering;
	pthread_rwlock_t session_lock; /* protects what follows */
	struct fuse_session *session;  /* that the kernel is told by; NULL: by none */
};

/* Everything but the FUSE session. The models are borrowed and outlive it. NULL: out of memory. */
struct mount *mount_new(struct models *models);

/* What there is of a model of the mount's alone, as model_files_init(). */
int mount_add_model(struct mount *fs, struct model_files *model_files, struct model *model);

/* End the measuring, and wait for the grafts and assemblies that still run. None may be begun
 * afterwards. */
void mount_drain(struct mount *fs);

void mount_free(struct mount *fs);

/* Model number i of those that the command line named, as it is now. */
static inline struct model_files *mount_model_files_at(const struct mount *fs, uint32_t i)
{
	return model_files_current(fs->model_files, i);
}

/* Are all shards of all models there? */
static inline bool mount_is_complete(const struct mount *fs)
{
	for (uint32_t i = 0; i < fs->models->n; i++)
		if (!model_latest(fs->models->models[i])->whole)
			return false;
	return true;
}

/* Does the unmount write the models that were changed? */
static inline bool mount_assembles(const struct mount *fs)
{
	return !fs->options->read_only && !atomic_load(&fs->no_assembly);
}

/* The model that an inode is of; not for inodes of the mount. */
static inline struct model_files *mount_model_files(struct mount *fs, const struct inode *inode)
{
	return &fs->model_files[inode->model->number];
}

/* For what waits until tensors of the inode's model, or of all, were measured or hashed. */
static inline struct pool *mount_computed_reads(const struct mount *fs, const struct inode *inode)
{
	return inode->model && !backing_is_remote(inode->model->base) ? fs->computed_reads
								      : fs->remote_reads;
}

#endif

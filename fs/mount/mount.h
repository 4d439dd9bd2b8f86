/* SPDX-License-Identifier: MIT */
/* mount.h - the state of a mount, except the FUSE session. */
#ifndef FS_MOUNT_MOUNT_H
#define FS_MOUNT_MOUNT_H

#include "fs/mount/models.h"
#include "fs/mount/options.h"
#include "fs/storage/backing.h"
#include "fs/tree/model_files.h"
#include "fs/tree/tree.h"

struct mount {
	/* Set by mount_new(), constant afterwards. */
	const struct options *options;
	struct log *log;
	struct models *models;
	struct model_files *model_files; /* of the models, by number; room for INODE_MODELS */
	atomic_uint n_model_files;	 /* more than models->n once shards came or went */
	pthread_mutex_t shards_lock;	 /* lets one thread check for shards */
	struct timespec shards_checked;	 /* start of the last check; protected by shards_lock */
	dev_t device;			 /* of the mount, 0: not known; set before requests come */
	struct models_root *overview;	 /* NULL: the only model is the root */
	struct inodes *inodes;
	struct read_modes *read_modes;
	struct open_files *handles;
	struct pollers {
		pthread_mutex_t lock; /* protects the list, and each poller in it */
		struct poller *first;
	} pollers; /* of open files; fuse/pollers.h */
	struct scratch_files *scratches;
	struct name_locks *names;
	struct tree tree; /* context of the families: the members above */
	struct write_opens *writers;
	struct fresh_directories *fresh;
	struct in_flight *emptied; /* keys whose commit as empty strings is under way */
	struct reply_buffers *buffers;
	/* A job waits only for jobs of pools that are further down in mount.c. */
	struct read_threads *read_threads; /* threads that read from disks */
	struct pool *measurers;		   /* threads that measure */
	struct pool *hashers;		   /* threads that hash */
	struct pool *differs;		   /* threads that help readers of .diff */
	struct pool *measured_reads;	   /* requests that wait for measures and hashes */
	/* the same, of models on servers or of several models */
	struct pool *remote_measured_reads;
	struct pool *computed_rows;    /* reads of tensors computed from others */
	struct stop_flags *stop_reads; /* of running reads, and of words being obeyed */
	struct pool *obeyed;	       /* words of .undo, .recipe and .merge */
	struct pool *commits;	       /* closes, removals, renames and fsync() of written files */
	struct pool *assemblies;       /* writes to .assemble */
	struct pool *opens;	       /* opens of files that the kernel may read by itself */
	struct fifo_lock *assembly_lock; /* lets one assembly run */
	struct pool *link_lookups;	 /* look-ups of the targets of links */
	struct pool *shard_checks;	 /* checks for shards, one at a time */
	struct symlinks *links;
	struct model_listener listener; /* of all models; set before the first request */
	struct pool *first_writes;	/* first writes to a stage, whose writers are traced */
	struct write_sources *tracer;
	const struct unmount_status *status; /* the session's, or NULL */
	atomic_bool no_assembly; /* from the options, until user.organfs.noassemble is set */
	int connection; /* the session's descriptor to the kernel, set before the first request */
	bool kernel_passes; /* passthrough allowed; set for INIT, passthrough.c asks for it */
	/* Read lock of a job while it answers; write lock of the session while it closes the
	 * connection to the kernel. */
	pthread_rwlock_t answering;
	pthread_rwlock_t session_lock; /* protects session */
	struct fuse_session *session;  /* for notifications to the kernel, or NULL */
};

/* Make the mount. The models are borrowed and outlive it. NULL: out of memory. */
struct mount *mount_new(struct models *models);

/* Initialise the mount's own state of a model, as model_files_init(). */
int mount_add_model(struct mount *fs, struct model_files *model_files, struct model *model);

/* Stop measures and reads of computed or remote bytes, and wait for the jobs of all pools, such as
 * commits and assemblies. The caller starts none afterwards. */
void mount_drain(struct mount *fs);

void mount_free(struct mount *fs);

/* Current state of model i of the command line, which another one may have replaced. */
static inline struct model_files *mount_model_files_at(const struct mount *fs, uint32_t i)
{
	return model_files_current(fs->model_files, i);
}

/* Has every model all its shards? */
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

/* The model of an inode, which must not be one of the mount itself. */
static inline struct model_files *mount_model_files(struct mount *fs, const struct inode *inode)
{
	return &fs->model_files[inode->model->number];
}

/* Pool for requests that wait until tensors of the inode's model, or of several models, are
 * measured or hashed. */
static inline struct pool *mount_measured_reads(const struct mount *fs, const struct inode *inode)
{
	return inode->model && !backing_is_remote(inode->model->base) ? fs->measured_reads
								      : fs->remote_measured_reads;
}

#endif

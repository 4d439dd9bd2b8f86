/* SPDX-License-Identifier: MIT */
/* mount.c - see mount.h. */
#include "fs/mount/mount.h"
#include "fs/edit/symlinks.h"
#include "fs/lazy/memo.h"
#include "fs/lazy/tensor_hashes.h"
#include "fs/lazy/tensor_losses.h"
#include "fs/model/inode.h"
#include "fs/mount/options.h"
#include "fs/mount/reply_buffers.h"
#include "fs/paths/write_source.h"
#include "fs/storage/read_threads.h"
#include "fs/storage/remote_cache.h"
#include "fs/tree/fresh_directories.h"
#include "fs/tree/name_locks.h"
#include "fs/tree/open_files.h"
#include "fs/tree/read_modes.h"
#include "fs/tree/scratch_files.h"
#include "fs/tree/write_opens.h"
#include "fs/util/fifo_lock.h"
#include "fs/util/in_flight.h"
#include "fs/util/parallel.h"
#include "fs/util/pool.h"
#include "fs/util/stop_flags.h"

#include <stdlib.h>

/* The pools of a mount, in the order in which mount_drain() waits for them. A job waits only for
 * jobs of pools further down, and for jobs of its own pool only if they run already. The pools are
 * separate so that jobs held up by a dead server or a long organ delay no other kind of job. */
static const struct mount_pool {
	size_t place;	  /* offset of its member in struct mount */
	unsigned threads; /* 0: as many as parallel_threads() */
} pools[] = {
	/* Reads of θ and hashes, which wait for the measurers and the hashers. */
	{ offsetof(struct mount, measured_reads), 32 },
	/* The same reads of models on servers, which may be slow. */
	{ offsetof(struct mount, remote_measured_reads), 32 },
	/* Reads of tensors that are merged, purified or in another form. Their sources may lie on a
	 * disk that hangs. */
	{ offsetof(struct mount, computed_rows), 32 },
	/* First writes to a stage. Each inspects the processes that may be the writer. */
	{ offsetof(struct mount, first_writes), 4 },
	/* Writes to .assemble. One assembles at a time (assembly_lock); the others wait and can be
	 * interrupted. */
	{ offsetof(struct mount, assemblies), 32 },
	/* Opens that have to ask a disk whether the kernel can read a file by itself. An open may
	 * wait for a running one of the same inode (read_modes.h). */
	{ offsetof(struct mount, opens), 16 },
	/* Look-ups of the targets of links. symlinks.h limits their duration. */
	{ offsetof(struct mount, link_lookups), 16 },
	/* Checks for shards. shards_lock lets one run at a time, so one thread suffices. */
	{ offsetof(struct mount, shard_checks), 1 },
	/* Words being obeyed. The paths in them may lie on a disk that hangs. */
	{ offsetof(struct mount, obeyed), 8 },
	/* Commits of grafts, which wait for the disk and not for a processor. */
	{ offsetof(struct mount, commits), 8 },
	/* Matrices of .diff take minutes, and the target of a link may lie on a disk that hangs. */
	{ offsetof(struct mount, differs), 0 },
	/* Work for the processors. θ takes moments, and must not wait behind the hashes of organs
	 * of gigabytes. */
	{ offsetof(struct mount, measurers), 0 },
	{ offsetof(struct mount, hashers), 0 },
};

#define POOLS (sizeof(pools) / sizeof(pools[0]))

static struct pool **pool_of(struct mount *fs, size_t i)
{
	return (struct pool **)((char *)fs + pools[i].place);
}

static bool start_pools(struct mount *fs)
{
	bool all = true;

	for (size_t i = 0; i < POOLS; i++) {
		*pool_of(fs, i) =
			pool_new(pools[i].threads ? pools[i].threads : parallel_threads());
		all &= *pool_of(fs, i) != NULL;
	}
	return all;
}

int mount_add_model(struct mount *fs, struct model_files *model_files, struct model *model)
{
	const struct options *options = fs->options;
	/* With several models, output= is the directory for all of them. */
	const bool several = fs->models->several;
	/* A slow server delays only its own models. */
	const bool is_remote = backing_is_remote(model->base);
	const struct model_files_params params = {
		.samples = options->samples,
		.output = several ? NULL : options->output,
		.directory = several ? options->output : NULL,
		/* A private layer is deleted once its model is assembled; a named one is kept. */
		.keep = options->layer != NULL,
		.lineage = options->lineage,
		.confined = options->confine,
		.inodes = fs->inodes,
		.measurers = is_remote ? NULL : fs->measurers,
		.hashers = is_remote ? NULL : fs->hashers,
		.differs = fs->differs,
	};

	model->links = fs->links;
	model->listener = &fs->listener;
	return model_files_init(model_files, model, &params);
}

static bool mount_models(struct mount *fs, const struct models *models)
{
	const uint32_t n = models->n;

	/* Room for the most models; pages of unused entries are never touched. */
	fs->model_files =
		calloc(mount_is_complete(fs) ? n : INODE_MODELS, sizeof(*fs->model_files));
	if (!fs->model_files)
		return false;
	for (uint32_t i = 0; i < n; i++) {
		fs->n_model_files = i + 1;
		if (mount_add_model(fs, &fs->model_files[i], models->models[i]) < 0)
			return false;
	}
	if (!models->several)
		return true;
	fs->overview = models_root_new(fs->model_files, n, fs->inodes, fs->log);
	return fs->overview != NULL;
}

struct mount *mount_new(struct models *models)
{
	const struct options *options = models->options;
	struct mount *fs = calloc(1, sizeof(*fs));

	if (!fs)
		return NULL;
	fs->options = options;
	fs->log = models->log;
	fs->models = models;
	atomic_init(&fs->no_assembly, options->no_assembly);
	pthread_mutex_init(&fs->shards_lock, NULL);
	pthread_mutex_init(&fs->pollers.lock, NULL);
	pthread_rwlock_init(&fs->answering, NULL);
	pthread_rwlock_init(&fs->session_lock, NULL);
	fs->inodes = inodes_new(models->models, models->n, models->several);
	fs->read_modes = read_modes_new();
	if (fs->inodes && fs->read_modes)
		fs->handles = open_files_new(fs->inodes, fs->read_modes);
	fs->scratches = fs->inodes ? scratch_files_new(fs->inodes) : NULL;
	fs->names = name_locks_new();
	fs->writers = write_opens_new();
	fs->fresh = fresh_directories_new();
	fs->emptied = in_flight_new();
	fs->buffers = reply_buffers_new();
	fs->read_threads = read_threads_new(options->threads);
	fs->stop_reads = stop_flags_new();
	fs->assembly_lock = fifo_lock_new();
	fs->links = symlinks_new(models->models, models->n, models->several);
	fs->tracer = fs->inodes ? write_sources_new(inodes_donor, fs->inodes) : NULL;
	if (start_pools(fs) && fs->inodes && fs->handles && fs->scratches && fs->names &&
	    fs->writers && fs->fresh && fs->emptied && fs->buffers && fs->read_threads &&
	    fs->stop_reads && fs->assembly_lock && fs->links && fs->tracer &&
	    mount_models(fs, models)) {
		fs->tree = (struct tree){ .inodes = fs->inodes,
					  .scratches = fs->scratches,
					  .names = fs->names,
					  .overview = fs->overview,
					  .model_files = fs->model_files,
					  .n_models = models->n,
					  .read_only = options->read_only,
					  .list_views = options->list_views,
					  .donors = options->donors };
		return fs;
	}
	mount_free(fs);
	return NULL;
}

void mount_drain(struct mount *fs)
{
	/* End transfers, so that a server that does not answer delays no job. */
	remote_cache_interrupt(fs->models->remote, true);
	if (fs->stop_reads)
		stop_flags_set(fs->stop_reads);
	for (uint32_t i = 0; i < fs->n_model_files; i++) {
		atomic_store(&fs->model_files[i].ending, true);
		memo_stop(fs->model_files[i].measures);
		tensor_hashes_stop(fs->model_files[i].hashes);
		tensor_losses_stop(fs->model_files[i].losses);
	}
	for (size_t i = 0; i < POOLS; i++) {
		/* Jobs of measured_reads use the read threads, and these use the pools below. */
		if (pool_of(fs, i) == &fs->first_writes)
			read_threads_drain(fs->read_threads);
		pool_free(*pool_of(fs, i));
		*pool_of(fs, i) = NULL;
	}
	/* The unmount may still have to read models from servers. */
	remote_cache_interrupt(fs->models->remote, false);
}

void mount_free(struct mount *fs)
{
	if (!fs)
		return;
	mount_drain(fs);
	open_files_free(fs->handles);
	read_modes_free(fs->read_modes);
	scratch_files_free(fs->scratches);
	name_locks_free(fs->names);
	in_flight_free(fs->emptied);
	fifo_lock_free(fs->assembly_lock);
	models_root_free(fs->overview);
	for (uint32_t i = 0; i < fs->n_model_files; i++)
		model_files_release(&fs->model_files[i]);
	inodes_free(fs->inodes);
	symlinks_free(fs->links);
	write_sources_free(fs->tracer);
	free(fs->model_files);
	pthread_mutex_destroy(&fs->shards_lock);
	pthread_mutex_destroy(&fs->pollers.lock);
	pthread_rwlock_destroy(&fs->answering);
	pthread_rwlock_destroy(&fs->session_lock);
	write_opens_free(fs->writers);
	fresh_directories_free(fs->fresh);
	read_threads_free(fs->read_threads);
	stop_flags_free(fs->stop_reads);
	reply_buffers_free(fs->buffers);
	free(fs);
}

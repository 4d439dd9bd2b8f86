/* SPDX-License-Identifier: MIT */
/* mount.c - see mount.h. */
#include "fs/mount/mount.h"
#include "fs/model/inode.h"

#include <stdio.h>
#include <stdlib.h>

/* Grafts wait for the disk, not for a processor. */
#define COMMIT_THREADS 8

#define FIRST_WRITE_THREADS 4

/* Whoever reads θ or hashes waits for the processors, on a thread of theirs. */
#define COMPUTED_READ_THREADS 32

/* One assembly runs at a time; the others wait here, where they can be interrupted. */
#define ASSEMBLY_THREADS 32

/* Nobody waits here for longer than symlinks.h says. */
#define LINK_LOOKUP_THREADS 16

int mount_add_model(struct mount *fs, struct model_files *mounted, struct model *model)
{
	const struct options *options = fs->options;
	/* With several models, what is given is the directory for all. */
	const bool several = fs->collection->several;
	const struct mounted_site site = {
		.samples = options->samples,
		.output = several ? NULL : options->output,
		.directory = several ? options->output : NULL,
		/* A private layer is dropped when its model is assembled, and so is the mount. */
		.keep = options->layer != NULL,
		.inodes = fs->inodes,
		.measurers = fs->measurers,
		.hashers = fs->hashers,
	};

	model->links = fs->links;
	return model_files_init(mounted, model, &site);
}

static bool mount_models(struct mount *fs, const struct models *collection)
{
	const uint32_t n = collection->n;

	/* Pages of places that nobody takes are never touched. */
	fs->model_files =
		calloc(mount_is_complete(fs) ? n : INODE_MODELS, sizeof(*fs->model_files));
	if (!fs->model_files || !fs->inodes || !fs->measurers || !fs->hashers)
		return false;
	for (uint32_t i = 0; i < n; i++) {
		fs->n_model_files = i + 1;
		if (mount_add_model(fs, &fs->model_files[i], collection->models[i]) < 0)
			return false;
	}
	if (!collection->several)
		return true;
	fs->overview = models_root_new(fs->model_files, n, fs->inodes, fs->log);
	return fs->overview != NULL;
}

struct mount *mount_new(const struct options *options, struct log *log, struct models *collection)
{
	struct mount *fs = calloc(1, sizeof(*fs));

	if (!fs)
		return NULL;
	fs->options = options;
	fs->log = log;
	fs->collection = collection;
	pthread_mutex_init(&fs->shards_lock, NULL);
	pthread_rwlock_init(&fs->answering, NULL);
	fs->inodes = inodes_new(collection->models, collection->n, collection->several);
	fs->measurers = pool_new(memo_threads());
	/* Not the same: θ takes moments, and is not to wait behind organs of gigabytes. */
	fs->hashers = pool_new(memo_threads());
	fs->handles = fs->inodes ? open_files_new(fs->inodes) : NULL;
	fs->scratches = fs->inodes ? scratch_files_new(fs->inodes) : NULL;
	fs->writers = write_opens_new();
	fs->emptied = in_flight_new();
	fs->buffers = reply_buffers_new();
	fs->read_threads = read_threads_new(options->threads);
	fs->computed_reads = pool_new(COMPUTED_READ_THREADS);
	fs->commits = pool_new(COMMIT_THREADS);
	fs->assemblies = pool_new(ASSEMBLY_THREADS);
	fs->assembly_lock = fifo_lock_new();
	fs->link_lookups = pool_new(LINK_LOOKUP_THREADS);
	fs->shard_checks = pool_new(1);
	fs->links = symlinks_new(collection->models, collection->n, collection->several);
	fs->first_writes = pool_new(FIRST_WRITE_THREADS);
	fs->tracer = fs->inodes ? write_sources_new(inodes_donor, fs->inodes) : NULL;
	if (mount_models(fs, collection) && fs->handles && fs->scratches && fs->writers &&
	    fs->buffers && fs->read_threads && fs->computed_reads && fs->commits &&
	    fs->assemblies && fs->link_lookups && fs->shard_checks && fs->links && fs->emptied &&
	    fs->first_writes && fs->tracer && fs->assembly_lock) {
		fs->tree = (struct tree){ .inodes = fs->inodes,
					  .scratches = fs->scratches,
					  .overview = fs->overview,
					  .model_files = fs->model_files,
					  .n_models = collection->n,
					  .read_only = options->read_only,
					  .list_views = options->list_views };
		return fs;
	}
	mount_free(fs);
	return NULL;
}

void mount_drain(struct mount *fs)
{
	for (uint32_t i = 0; i < fs->n_model_files; i++) {
		atomic_store(&fs->model_files[i].ending, true);
		if (fs->model_files[i].measures)
			tensor_measures_stop(fs->model_files[i].measures);
		if (fs->model_files[i].hashes)
			tensor_hashes_stop(fs->model_files[i].hashes);
	}
	pool_free(fs->computed_reads);
	read_threads_drain(fs->read_threads);
	pool_free(fs->first_writes);
	pool_free(fs->assemblies);
	pool_free(fs->link_lookups);
	pool_free(fs->shard_checks);
	pool_free(fs->commits);
	pool_free(fs->measurers);
	pool_free(fs->hashers);
	fs->computed_reads = NULL;
	fs->first_writes = NULL;
	fs->assemblies = NULL;
	fs->link_lookups = NULL;
	fs->shard_checks = NULL;
	fs->commits = NULL;
	fs->measurers = NULL;
	fs->hashers = NULL;
}

void mount_free(struct mount *fs)
{
	if (!fs)
		return;
	mount_drain(fs);
	open_files_free(fs->handles);
	scratch_files_free(fs->scratches);
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
	pthread_rwlock_destroy(&fs->answering);
	write_opens_free(fs->writers);
	read_threads_free(fs->read_threads);
	reply_buffers_free(fs->buffers);
	free(fs);
}

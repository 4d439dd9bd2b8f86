/* SPDX-License-Identifier: MIT */
/* fs.c - see fs.h. */
#include "fs/mount/mount.h"
#include "fs/model/inode.h"

#include <stdio.h>
#include <stdlib.h>

/* Grafts wait for the disk, not for a processor. */
#define COMMIT_THREADS 8

#define BEGINNING_THREADS 4

/* Whoever reads θ or hashes waits for the processors, on a thread of theirs. */
#define MAKER_THREADS 32

/* One assembly runs at a time; the others wait here, where they can be interrupted. */
#define ASSEMBLY_THREADS 32

/* Nobody waits here for longer than links.h says. */
#define LOOKER_THREADS 16

int fs_mount_model(struct fs *fs, struct mounted *mounted, struct model *model)
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
		.nodes = fs->nodes,
		.measurers = fs->measurers,
		.hashers = fs->hashers,
	};

	model->links = fs->links;
	return mounted_init(mounted, model, &site);
}

static bool mount_models(struct fs *fs, const struct collection *collection)
{
	const uint32_t n = collection->n;

	/* Pages of places that nobody takes are never touched. */
	fs->mounted = calloc(fs_is_whole(fs) ? n : INODE_MODELS, sizeof(*fs->mounted));
	if (!fs->mounted || !fs->nodes || !fs->measurers || !fs->hashers)
		return false;
	for (uint32_t i = 0; i < n; i++) {
		fs->n_mounted = i + 1;
		if (fs_mount_model(fs, &fs->mounted[i], collection->models[i]) < 0)
			return false;
	}
	if (!collection->several)
		return true;
	fs->overview = overview_new(fs->mounted, n, fs->nodes, fs->log);
	return fs->overview != NULL;
}

struct fs *fs_new(const struct options *options, struct log *log, struct collection *collection)
{
	struct fs *fs = calloc(1, sizeof(*fs));

	if (!fs)
		return NULL;
	fs->options = options;
	fs->log = log;
	fs->collection = collection;
	pthread_mutex_init(&fs->looking, NULL);
	pthread_rwlock_init(&fs->answering, NULL);
	fs->nodes = nodes_new(collection->models, collection->n, collection->several);
	fs->measurers = pool_new(onces_threads());
	/* Not the same: θ takes moments, and is not to wait behind organs of gigabytes. */
	fs->hashers = pool_new(onces_threads());
	fs->handles = fs->nodes ? handles_new(fs->nodes) : NULL;
	fs->scratches = fs->nodes ? scratches_new(fs->nodes) : NULL;
	fs->writers = writers_new();
	fs->emptied = pending_new();
	fs->buffers = buffers_new();
	fs->readers = readers_new(options->threads);
	fs->makers = pool_new(MAKER_THREADS);
	fs->commits = pool_new(COMMIT_THREADS);
	fs->assemblies = pool_new(ASSEMBLY_THREADS);
	fs->turns = turns_new();
	fs->lookers = pool_new(LOOKER_THREADS);
	fs->arrivals = pool_new(1);
	fs->links = links_new(collection->models, collection->n, collection->several);
	fs->beginnings = pool_new(BEGINNING_THREADS);
	fs->tracer = fs->nodes ? tracer_new(nodes_donor, fs->nodes) : NULL;
	if (mount_models(fs, collection) && fs->handles && fs->scratches && fs->writers &&
	    fs->buffers && fs->readers && fs->makers && fs->commits && fs->assemblies &&
	    fs->lookers && fs->arrivals && fs->links && fs->emptied && fs->beginnings &&
	    fs->tracer && fs->turns)
		return fs;
	fs_free(fs);
	return NULL;
}

void fs_settle(struct fs *fs)
{
	for (uint32_t i = 0; i < fs->n_mounted; i++) {
		atomic_store(&fs->mounted[i].ending, true);
		if (fs->mounted[i].readings)
			readings_stop(fs->mounted[i].readings);
		if (fs->mounted[i].digests)
			digests_stop(fs->mounted[i].digests);
	}
	pool_free(fs->makers);
	readers_settle(fs->readers);
	pool_free(fs->beginnings);
	pool_free(fs->assemblies);
	pool_free(fs->lookers);
	pool_free(fs->arrivals);
	pool_free(fs->commits);
	pool_free(fs->measurers);
	pool_free(fs->hashers);
	fs->makers = NULL;
	fs->beginnings = NULL;
	fs->assemblies = NULL;
	fs->lookers = NULL;
	fs->arrivals = NULL;
	fs->commits = NULL;
	fs->measurers = NULL;
	fs->hashers = NULL;
}

void fs_free(struct fs *fs)
{
	if (!fs)
		return;
	fs_settle(fs);
	handles_free(fs->handles);
	scratches_free(fs->scratches);
	pending_free(fs->emptied);
	turns_free(fs->turns);
	overview_free(fs->overview);
	for (uint32_t i = 0; i < fs->n_mounted; i++)
		mounted_release(&fs->mounted[i]);
	nodes_free(fs->nodes);
	links_free(fs->links);
	tracer_free(fs->tracer);
	free(fs->mounted);
	pthread_mutex_destroy(&fs->looking);
	pthread_rwlock_destroy(&fs->answering);
	writers_free(fs->writers);
	readers_free(fs->readers);
	buffers_free(fs->buffers);
	free(fs);
}

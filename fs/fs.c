/* SPDX-License-Identifier: MIT */
/* fs.c - see fs.h. */
#include "fs/fs.h"

#include <stdlib.h>

/* Grafts wait for the disk, not for a processor. */
#define COMMIT_THREADS 8

/* Whoever reads θ waits for the processors, on a thread of the readings. */
#define MAKER_THREADS 32

struct fs *fs_new(const struct options *options, struct log *log, struct model *model)
{
	struct fs *fs = calloc(1, sizeof(*fs));

	if (!fs)
		return NULL;
	fs->options = options;
	fs->log = log;
	fs->model = model;
	fs->nodes = nodes_new(model);
	fs->handles = fs->nodes ? handles_new(fs->nodes) : NULL;
	fs->scratches = fs->nodes ? scratches_new(fs->nodes) : NULL;
	fs->writers = writers_new();
	fs->assembly = assembly_new(model, options->output);
	fs->readings = readings_new(model, options->samples);
	fs->generated = generated_new(model, fs->readings, fs->assembly, fs->nodes);
	fs->buffers = buffers_new();
	fs->makers = pool_new(MAKER_THREADS);
	fs->commits = pool_new(COMMIT_THREADS);
	fs->assemblies = pool_new(1);
	if (fs->handles && fs->scratches && fs->writers && fs->assembly && fs->readings &&
	    fs->generated && fs->buffers && fs->makers && fs->commits && fs->assemblies)
		return fs;
	fs_free(fs);
	return NULL;
}

void fs_settle(struct fs *fs)
{
	if (fs->readings)
		readings_stop(fs->readings);
	pool_free(fs->makers);
	pool_free(fs->assemblies);
	pool_free(fs->commits);
	fs->makers = NULL;
	fs->assemblies = NULL;
	fs->commits = NULL;
}

void fs_free(struct fs *fs)
{
	if (!fs)
		return;
	fs_settle(fs);
	handles_free(fs->handles);
	scratches_free(fs->scratches);
	generated_free(fs->generated);
	nodes_free(fs->nodes);
	readings_free(fs->readings);
	assembly_free(fs->assembly);
	writers_free(fs->writers);
	buffers_free(fs->buffers);
	free(fs);
}

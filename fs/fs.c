/* SPDX-License-Identifier: MIT */
/* fs.c - see fs.h. */
#include "fs/fs.h"

#include <stdlib.h>

/* Grafts wait for the disk, not for a processor. */
#define COMMIT_THREADS 8

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
	fs->writers = writers_new();
	fs->assembly = assembly_new(model, options->output);
	fs->generated = generated_new(model, log, fs->assembly, fs->nodes);
	fs->buffers = buffers_new();
	fs->commits = pool_new(COMMIT_THREADS);
	fs->assemblies = pool_new(1);
	if (fs->handles && fs->writers && fs->assembly && fs->generated && fs->buffers &&
	    fs->commits && fs->assemblies)
		return fs;
	fs_free(fs);
	return NULL;
}

void fs_settle(struct fs *fs)
{
	pool_free(fs->assemblies);
	pool_free(fs->commits);
	fs->assemblies = NULL;
	fs->commits = NULL;
}

void fs_free(struct fs *fs)
{
	if (!fs)
		return;
	fs_settle(fs);
	handles_free(fs->handles);
	generated_free(fs->generated);
	nodes_free(fs->nodes);
	assembly_free(fs->assembly);
	writers_free(fs->writers);
	buffers_free(fs->buffers);
	free(fs);
}

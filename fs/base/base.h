/* SPDX-License-Identifier: MIT */
/* base.h - a model on disk, opened and parsed: one file, or the existing shards of a split
 * model. */
#ifndef FS_BASE_BASE_H
#define FS_BASE_BASE_H

#include <stdbool.h>

struct error;

struct base {
	struct backing *file;
	struct gguf *gguf;
	struct shards *shards; /* NULL: one file */
};

/* Open the model at path: a file, a URL with http or https, any shard of a split model, or a
 * directory of organ files. Returns 0, or -errno with err set: errors of backing_open(),
 * gguf_read(), shards_find(). base_close() has to follow in both cases. */
int base_open(struct base *base, const char *path, struct error *err);

struct base_options {
	const char *header; /* for a directory of organ files; NULL: the directory's own header */
	struct remote_cache *remote; /* for files on a server; NULL: a cache of the base's own */
	bool mounted;		     /* announce the files to other daemons, keep no pages */
};

int base_open_with(struct base *base, const char *path, const struct base_options *options,
		   struct error *err);

/* base_open() for shards that were found. */
int base_open_shards(struct base *base, struct shards *shards, struct error *err);

void base_close(struct base *base);

#endif

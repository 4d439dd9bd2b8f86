/* SPDX-License-Identifier: MIT */
/* base.h - a model as it lies on disk: one file, or the shards of one that are there, with what the
 * reader made of it. */
#ifndef FS_BASE_BASE_H
#define FS_BASE_BASE_H

#include <stdbool.h>

struct error;

struct base {
	struct backing *file;
	struct gguf *gguf;
	struct shards *shards; /* NULL: it is one file */
};

/* Open the model of which the file at path, which may be a URL with http or https, is all, or a
 * shard, or whose organ files are in the directory at path. Returns 0, or -errno with err set: as
 * backing_open(), gguf_read(), shards_find(). base_close() is due either way. */
int base_open(struct base *base, const char *path, struct error *err);

struct base_options {
	const char *header; /* of a directory of organ files; NULL: the one in it */
	struct remote_cache *remote; /* for what lies on a server; NULL: one of its own */
	bool mounted; /* other daemons are told, and no pages stay: backing_set_passing() */
};

int base_open_with(struct base *base, const char *path, const struct base_options *options,
		   struct error *err);

/* The same for shards that were found. */
int base_open_shards(struct base *base, struct shards *shards, struct error *err);

void base_close(struct base *base);

#endif

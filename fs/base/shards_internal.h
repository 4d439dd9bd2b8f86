/* SPDX-License-Identifier: MIT */
/* shards_internal.h - struct shards, shared by the files about shards. */
#ifndef FS_BASE_SHARDS_INTERNAL_H
#define FS_BASE_SHARDS_INTERNAL_H

#include "fs/base/shard_candidate.h"

#include <pthread.h>
#include <stdatomic.h>

struct shards {
	atomic_uint refs;
	uint32_t count;
	uint64_t total; /* number of tensors; 0: unknown */
	struct fd_cache *set;
	/* NULL: a split model. Otherwise shard 0 is the header, the following shards are these
	 * files, and further candidates are ignored. */
	struct organ_files *organs;
	char *header;		     /* path of a header outside the directory */
	char *tail;		     /* for URLs, the query after the name; NULL: local files */
	struct remote_cache *remote; /* for URLs */
	bool mounted;
	char *stem; /* begin of all paths, or directory of organs; NULL: the given name is not a
		     * shard's */
	size_t n_candidates;
	pthread_mutex_t lock; /* protects the candidates, which shards_rescan() updates */
	struct shard_candidate *candidates;
	/* By number. */
	struct shard_file **parts; /* NULL: missing */
	bool *gone;		   /* the file is gone, but its tensors stay known */
};

/* The tensors in a shard; the header of organ files has none. NULL: missing. */
static inline const struct gguf *shards_tensors(const struct shards *shards, uint32_t k)
{
	return shards->parts[k] && !(shards->organs && k == 0) ? shards->parts[k]->gguf : NULL;
}

#endif

/* SPDX-License-Identifier: MIT */
/* shards_internal.h - what the files about shards share: a set of shards. */
#ifndef FS_BASE_SHARDS_INTERNAL_H
#define FS_BASE_SHARDS_INTERNAL_H

#include "fs/base/shard_candidate.h"

#include <pthread.h>
#include <stdatomic.h>

struct shards {
	atomic_uint refs;
	uint32_t count;
	uint64_t total; /* of tensors; 0: no shard tells */
	struct fd_cache *set;
	/* NULL: they are shards. Else shard 0 is the header, those after it are these files, and
	 * candidates beyond them are passed over. */
	struct organ_files *organs;
	char *header; /* path of the header of organs, if it is not in their directory */
	char *tail;   /* of URLs, behind the name: a query; NULL: they are no URLs */
	struct remote_cache *remote; /* of URLs */
	bool mounted;
	char *stem; /* of the paths, or the directory of organs; NULL: the file that was named is
		     * not named as a shard is */
	size_t n_candidates;
	pthread_mutex_t lock; /* protects the candidates, which shards_rescan() brings up to date */
	struct shard_candidate *candidates;
	/* By number. */
	struct shard_file **parts; /* NULL: missing */
	bool *gone;		   /* it was there, and its tensors stay known */
};

/* The tensors that a shard has; the header of organ files has none. NULL: it is missing. */
static inline const struct gguf *shards_tensors(const struct shards *shards, uint32_t k)
{
	return shards->parts[k] && !(shards->organs && k == 0) ? shards->parts[k]->gguf : NULL;
}

#endif

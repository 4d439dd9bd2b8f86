/* SPDX-License-Identifier: MIT */
/* shards_internal.h - what shards.c, shards_text.c and shards_join.c share. */
#ifndef FS_BASE_SHARDS_INTERNAL_H
#define FS_BASE_SHARDS_INTERNAL_H

#include "gguf/shard.h"

#include <pthread.h>
#include <stdatomic.h>
#include <sys/stat.h>

/* The first bytes of shard 0, for when that is gone. */
struct shards_backing_head {
	const uint8_t *bytes; /* NULL: it is not */
	size_t length;
};

/* A file that is a shard. Counted, as the sets that it is in share it. */
struct shard_file {
	atomic_uint refs;
	char *path; /* that of its candidate: where it leads to, as a link, are perhaps no others */
	struct backing *file;
	struct gguf *gguf;
	struct split split;
	bool packed;			 /* a header without the tensors (gather.h) */
	struct shards_backing_head head; /* of shard 0 once it is gone */
};

/* Where a shard is looked for, and what was there. */
struct shard_candidate {
	char *path; /* of a URL, what of it may be shown and kept */
	char *url;  /* where it is fetched from, which may hold what grants access; NULL: a path */
	struct stat seen;  /* st_ino 0: nothing */
	struct shard_file *part; /* NULL: it is no shard that can be read */
	char *why;	   /* it is not used; NULL: it is, or is not there */
};

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
	char *stem;   /* of the paths, or the directory of organs; NULL: the file that was named is
		     * not named as a shard is */
	size_t n_candidates;
	pthread_mutex_t lock; /* protects the candidates, which shards_rescan() brings up to date */
	struct shard_candidate *candidates;
	/* By number. */
	struct shard_file **parts; /* NULL: missing */
	bool *gone;	     /* it was there, and its tensors stay known */
};

/* The tensors that a shard has; the header of organ files has none. NULL: it is missing. */
static inline const struct gguf *shards_tensors(const struct shards *shards, uint32_t k)
{
	return shards->parts[k] && !(shards->organs && k == 0) ? shards->parts[k]->gguf : NULL;
}

#endif

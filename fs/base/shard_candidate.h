/* SPDX-License-Identifier: MIT */
/* shard_candidate.h - the places where a set looks for its shards: a candidate has a path or URL,
 * and the file found there, opened and parsed. shards.c decides whether that file belongs to the
 * model. */
#ifndef FS_BASE_SHARD_CANDIDATE_H
#define FS_BASE_SHARD_CANDIDATE_H

#include "gguf/shard.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

struct backing;
struct error;
struct gguf;
struct shards;

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

/* A place where a shard is looked for, and the result of the last look. */
struct shard_candidate {
	char *path; /* of a URL, what of it may be shown and kept */
	char *url;  /* where it is fetched from, which may hold what grants access; NULL: a path */
	struct stat seen;	 /* st_ino 0: nothing */
	struct shard_file *part; /* NULL: it is no shard that can be read */
	char *why;		 /* it is not used; NULL: it is, or is not there */
};

struct shard_file *shard_file_ref(struct shard_file *part); /* NULL is fine */
void shard_file_unref(struct shard_file *part);		    /* NULL is fine */

/* Open and parse the file of candidate number i of the set. NULL with err set: it is no shard that
 * can be read. */
struct shard_file *shard_file_open(const struct shards *shards, size_t i,
				   const struct shard_candidate *candidate, struct error *err);

/* Record why the candidate is not used. Returns false. */
bool shard_candidate_reject(struct shard_candidate *candidate, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* Fill in the path of candidate number i, and its URL if the set is on a server. path: that of the
 * only candidate of a set without a stem. False: out of memory. */
bool shard_candidate_place(const struct shards *shards, size_t i, const char *path);

/* Look at the place of candidate number i, and open the file there. before: the same candidate at
 * the last look, whose file is shared if it is unchanged; NULL: this is the first look. */
void shard_candidate_scan(const struct shards *shards, size_t i,
			  const struct shard_candidate *before);

#endif

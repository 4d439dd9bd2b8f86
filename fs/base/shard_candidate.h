/* SPDX-License-Identifier: MIT */
/* shard_candidate.h - candidates for the shards of a set: a candidate has a path or URL, and the
 * file there, opened and parsed. shards.c decides whether that file belongs to the model. */
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

/* First bytes of shard 0, kept after the file is gone. */
struct shards_backing_head {
	const uint8_t *bytes; /* NULL: the file is there */
	size_t length;
};

/* A file that is a shard; reference-counted, because sets share it. */
struct shard_file {
	atomic_uint refs;
	char *path; /* the candidate's path; the target of a link may have other neighbours */
	struct backing *file;
	struct gguf *gguf;
	struct split split;
	bool packed;			 /* a header without tensor data (gather.h) */
	struct shards_backing_head head; /* for shard 0 after its file is gone */
};

/* A place where a shard may be, with the result of the last scan. */
struct shard_candidate {
	char *path;		 /* for a URL the part that may be shown and stored */
	char *url;		 /* full URL, perhaps with credentials; NULL: a local path */
	struct stat seen;	 /* st_ino 0: no file */
	struct shard_file *part; /* NULL: no readable shard */
	char *why;		 /* reason for which the file is not used; or NULL */
};

struct shard_file *shard_file_ref(struct shard_file *part); /* NULL is fine */
void shard_file_unref(struct shard_file *part);		    /* NULL is fine */

/* Open and parse the file of candidate number i. NULL with err set: not a readable shard. */
struct shard_file *shard_file_open(const struct shards *shards, size_t i,
				   const struct shard_candidate *candidate, struct error *err);

/* Set the reason for which the candidate is not used. Returns false. */
bool shard_candidate_reject(struct shard_candidate *candidate, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* Set the path of candidate number i, and its URL if the set is on a server. path: for a set
 * without a stem, the path of its only candidate. False: out of memory. */
bool shard_candidate_place(const struct shards *shards, size_t i, const char *path);

/* Look for the file of candidate number i and open it. before: the candidate's last state, whose
 * file is shared if it is unchanged; NULL: first scan. */
void shard_candidate_scan(const struct shards *shards, size_t i,
			  const struct shard_candidate *before);

#endif

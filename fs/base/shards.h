/* SPDX-License-Identifier: MIT */
/* shards.h - the files of a split model, or of one that is a directory of organ files, as far as
 * they are there.
 *
 * 1. A shard is what it says it is (split.no), not what its name says; by its name it is found:
 *    STEM-NNNNN-of-NNNNN.gguf, counted from 1, beside the one that was named.
 * 2. A file that cannot be read, that is of another model, or that has a number or a tensor which
 *    an earlier one has, is passed over, and its shard is missing.
 *    On a server, where nothing can come later, all of them have to be there, with all tensors.
 * 3. The shards of a set never change. What is found later makes a new one, which shares with the
 *    old one what both have. */
#ifndef FS_BASE_SHARDS_H
#define FS_BASE_SHARDS_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

struct backing;
struct error;
struct gguf;
struct log;
struct remote_cache;
struct split;

struct shards; /* counted; any thread may use it */

/* The shards of which the one at path is one, as split says; path may be a URL, and then remote is
 * the cache for all of them, or NULL for one of their own. mounted: as of struct base_options. NULL
 * with err set: as backing_open() and gguf_read() for that one, EBADMSG its numbers cannot be,
 * ENODATA those at a URL are not all there, or lack tensors, ENOMEM. */
struct shards *shards_find(const char *path, const struct split *split, struct remote_cache *remote,
			   bool mounted, struct error *err);

/* The organ files in a directory with their header (organ_files.h), which is the file at header, or
 * NULL: the one in the directory, if there is one. The header counts as shard 0, and each organ
 * file as one with a tensor. The directory is absolute. NULL with err set: as organ_files_find()
 * and gguf_read_header(). */
struct shards *shards_find_organs(const char *directory, const char *header, bool mounted,
				  struct error *err);
bool shards_are_organs(const struct shards *shards);

/* The same, looked at again, one at a time: NULL if there is nothing new, as there never is at a
 * URL, or no memory to tell. A shard that is gone stays in the set, so that what is known of its
 * tensors stays known. */
struct shards *shards_rescan(struct shards *old);

/* Give the disk the space of the shards that are gone: their bytes cannot be read any more, in no
 * set. */
void shards_revoke_gone(struct shards *shards);

/* Of two sets of one model: were the same files found? */
bool shards_same(const struct shards *a, const struct shards *b);

struct shards *shards_ref(struct shards *shards);
void shards_unref(struct shards *shards); /* NULL is fine */

/* Is the model whole? */
bool shards_are_complete(const struct shards *shards);

uint32_t shards_count(const struct shards *shards); /* of the model */
bool shards_is_present(const struct shards *shards, uint32_t no);
uint32_t shards_tensor_count(const struct shards *shards); /* of those that are there */
uint64_t shards_tensor_total(const struct shards *shards); /* of the model; 0: no shard tells */

/* The number of the shard that has the tensor of that name, there or gone, from 0. False: none. */
bool shards_find_tensor(const struct shards *shards, const char *name, size_t n, uint32_t *no);

/* "181/1096 tensors, shard 1 of 13", to free; NULL: out of memory. */
char *shards_summary(const struct shards *shards);

/* What is missing, with the names of the files and the errors of those that are there, to
 * free; NULL: out of memory. */
char *shards_missing_text(struct shards *shards);

/* Say in the log what is new since old, NULL: all of it, and what is wrong. */
void shards_log(struct shards *shards, const struct shards *old, struct log *log);

/* Is that one of their files? */
bool shards_has_file(const struct shards *shards, const struct stat *stat);

/* "STEM-00001-of-00003.gguf", without directories; "shard 1 of 3" where there is no stem. */
const char *shards_filename(const struct shards *shards, uint32_t no, char name[NAME_MAX + 1]);

/* The bytes of the GGUF that they are together, and the same parsed, to release with
 * backing_unref() and gguf_free(). Returns 0, or -errno with err set. */
int shards_join(const struct shards *shards, struct backing **file, struct gguf **gguf,
		struct error *err);

#endif

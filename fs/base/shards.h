/* SPDX-License-Identifier: MIT */
/* shards.h - the existing files of a split model, or of a model that is a directory of organ files.
 *
 * 1. Shards are found by file name, STEM-NNNNN-of-NNNNN.gguf, counted from 1, next to the given
 *    file, and identified by their split.no key; the key wins if the two disagree.
 * 2. A file is ignored, and its shard is missing, if it cannot be read, belongs to another model,
 *    or has the number or a tensor of an earlier file. On a server, where no file can appear later,
 *    all shards and tensors have to exist.
 * 3. A set is immutable. A later scan makes a new set, which shares unchanged files with the old
 *    one. */
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
struct gguf_tensor;
struct log;
struct organ;
struct remote_cache;
struct split;

struct shards; /* reference-counted; any thread may use it */

/* Find the shards of the model of which the file at path is one, as split tells. If path is a URL,
 * remote is the cache for all shards, or NULL for one of their own. mounted: as in struct
 * base_options. NULL with err set: errors of backing_open() and gguf_read() for that file; EBADMSG
 * invalid split.* keys; ENODATA shards or tensors at a URL are missing; ENOMEM. */
struct shards *shards_find(const char *path, const struct split *split, struct remote_cache *remote,
			   bool mounted, struct error *err);

/* Find the organ files in an absolute directory, and their header (organ_files.h): the file
 * `header`, or if that is NULL, the directory's own, if it exists. The header is shard 0, and each
 * organ file a shard with one tensor. NULL with err set: errors of organ_files_find() and
 * gguf_read_header(). */
struct shards *shards_find_organs(const char *directory, const char *header, bool mounted,
				  struct error *err);
bool shards_are_organs(const struct shards *shards);

/* Scan the places of the set again; one thread at a time. A shard that is gone stays in the new
 * set, so that its tensors stay known. NULL: no change, as always at a URL, or out of memory. */
struct shards *shards_rescan(struct shards *old);

/* Close the files of shards that are gone, so that the disk can free their space. Their bytes can
 * then be read in no set. */
void shards_revoke_gone(struct shards *shards);

/* Were the same files found for two sets of one model? */
bool shards_same(const struct shards *a, const struct shards *b);

struct shards *shards_ref(struct shards *shards);
void shards_unref(struct shards *shards); /* NULL is fine */

/* Are all shards and tensors present? */
bool shards_are_complete(const struct shards *shards);

uint32_t shards_count(const struct shards *shards); /* of the model */
bool shards_is_present(const struct shards *shards, uint32_t no);
uint32_t shards_tensor_count(const struct shards *shards); /* of the present shards */
uint64_t shards_tensor_total(const struct shards *shards); /* of the model; 0: unknown */

/* Number, from 0, of the shard, present or gone, with the tensor of that name. False: none. */
bool shards_find_tensor(const struct shards *shards, const char *name, size_t n, uint32_t *no);

/* The tensor of that name as the header of a directory of organ files lists it, whatever its file
 * holds, borrowed. NULL: the header does not list it, or the model is no such directory. */
const struct gguf_tensor *shards_listed(const struct shards *shards, const char *name, size_t n);

/* The organ in the file of the tensor of that name, under the name in its own header, to be freed.
 * Returns 0, or -errno with err set: ENOENT the model is no directory of organ files, or lacks the
 * tensor; as organ_parse(). */
int shards_organ(const struct shards *shards, const char *name, size_t n, struct organ *organ,
		 struct error *err);

/* Text "181/1096 tensors, shard 1 of 13", to free. NULL: out of memory. */
char *shards_summary(const struct shards *shards);

/* Names of missing files and errors of unusable ones as text, to free. NULL: out of memory. */
char *shards_missing_text(struct shards *shards);

/* Log the changes since the set `old`, or everything if it is NULL, and all problems. */
void shards_log(struct shards *shards, const struct shards *old, struct log *log);

/* Is it one of the set's files? */
bool shards_has_file(const struct shards *shards, const struct stat *stat);

/* The file name "STEM-00001-of-00003.gguf", or without a stem "shard 1 of 3". */
const char *shards_filename(const struct shards *shards, uint32_t no, char name[NAME_MAX + 1]);

/* The bytes of the joined GGUF, and the GGUF parsed; to release with backing_unref() and
 * gguf_free(). Returns 0, or -errno with err set. */
int shards_join(const struct shards *shards, struct backing **file, struct gguf **gguf,
		struct error *err);

#endif

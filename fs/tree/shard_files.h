/* SPDX-License-Identifier: MIT */
/* shard_files.h - .views/shards: the assembled model as a split GGUF, a first file with the
 * metadata alone and then one tensor per file, as `llama-gguf-split --no-tensor-first-split
 * --split-max-tensors 1` makes it; without the recipe that -o lineage adds.
 *
 * A file keeps its inode while its bytes are the same, and has the modification time of the organ
 * in it. A file that replaces another gets a later time than that one, so that no two states of a
 * name have equal times. */
#ifndef FS_TREE_SHARD_FILES_H
#define FS_TREE_SHARD_FILES_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

struct inode;
struct inodes;
struct model;

struct shard_files; /* any thread may use it */

/* New set; both pointers are borrowed. NULL: out of memory. */
struct shard_files *shard_files_new(struct model *model, struct inodes *inodes);
void shard_files_free(struct shard_files *files); /* NULL is fine */

/* Current number of files; 0: the model lacks shards, or cannot be split. Reads nothing. */
uint32_t shard_files_count(struct shard_files *files);

/* Name of file k of n, counted from 0. Returns its inode number if the file is made already, else a
 * new one. */
uint64_t shard_files_entry(struct shard_files *files, uint32_t k, uint32_t n,
			   char name[NAME_MAX + 1]);

/* Would shard_files_inode() read the model's metadata to make the files? */
bool shard_files_may_block(struct shard_files *files);

/* Current file of that name, to release with inodes_put(). NULL with *rc set to -errno, and a line
 * in the log if the files cannot be made. */
struct inode *shard_files_inode(struct shard_files *files, const char *name, int *rc);

#endif

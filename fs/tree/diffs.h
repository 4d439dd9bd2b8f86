/* SPDX-License-Identifier: MIT */
/* diffs.h - the files of .diff: the model's current state compared with others. A file is made when
 * it is first looked up, and stays the same inode until one of the two models changes; measures of
 * unchanged tensors are kept. */
#ifndef FS_TREE_DIFFS_H
#define FS_TREE_DIFFS_H

#include "fs/diff/diff_low_rank.h"

#include <stdatomic.h>

struct inode;

/* A file: one before DIFFS_LISTED, an adapter of a rank from 1 to DIFF_RANK_MOST, or the table of
 * such an adapter. */
typedef unsigned diffs_form;
enum { DIFFS_SUMMARY, DIFFS_TABLE, DIFFS_PICTURE, DIFFS_LISTED };

#define DIFFS_ADAPTER(rank)	  (DIFFS_LISTED + 2 * ((rank)-1))
#define DIFFS_ADAPTER_TABLE(rank) (DIFFS_ADAPTER(rank) + 1)
#define DIFFS_FORMS		  (DIFFS_LISTED + 2 * DIFF_RANK_MOST)

/* Ending of a file's name after the other model's name: "", ".tsv", ".svg", ".lora-8.gguf",
 * ".lora-8.tsv". Returns text. */
#define DIFFS_ENDING_MAX 16
const char *diffs_ending(diffs_form form, char text[DIFFS_ENDING_MAX]);

/* The other model: a model of the mount, with model NULL the target of link, or with both NULL the
 * model's own base. All fields are borrowed. */
struct diffs_other {
	const char *name;
	struct model *model; /* NULL: link or base */
	struct content *link;
};

struct diffs; /* any thread may use it */

/* All pointers are borrowed. */
struct diffs_params {
	struct model *model;
	struct inodes *inodes;
	uint64_t samples;	   /* per tensor (sampling.h) */
	struct pool *pool;	   /* as in struct diff_params */
	const atomic_bool *ending; /* the mount ends: measurements give up */
};

/* NULL: out of memory. */
struct diffs *diffs_new(const struct diffs_params *params);
void diffs_free(struct diffs *diffs); /* NULL is fine */

/* Current file, to release with inodes_put(). If a link leads to no model, the file says why, and
 * there are no adapters (-ENOENT). NULL with *rc set to -errno, and a line in the log. */
struct inode *diffs_inode(struct diffs *diffs, const struct diffs_other *other, diffs_form form,
			  int *rc);

/* diffs_may_block(): must the file be made, or a link followed again? diffs_ino(): its number,
 * without making it; 0: none yet. */
bool diffs_may_block(struct diffs *diffs, const struct diffs_other *other, diffs_form form);
uint64_t diffs_ino(struct diffs *diffs, const char *name, diffs_form form);

/* Remove the entry of a removed link: the file that the link led to is closed, also for processes
 * that still read its difference. */
void diffs_remove(struct diffs *diffs, const char *name);

#endif

/* SPDX-License-Identifier: MIT */
/* diffs.h - the files of .diff: the model as it is now beside others. Each is made when it is first
 * looked at, and stays the same inode until one of the two models changes; what was measured of
 * tensors that did not change is kept. */
#ifndef FS_TREE_DIFFS_H
#define FS_TREE_DIFFS_H

#include "fs/diff/diff_low_rank.h"

#include <stdatomic.h>

struct inode;

/* Which file: those before DIFFS_LISTED, or an adapter of a rank from 1 to DIFF_RANK_MOST, or what
 * such a one keeps. */
typedef unsigned diffs_form;
enum { DIFFS_SUMMARY, DIFFS_TABLE, DIFFS_PICTURE, DIFFS_LISTED };

#define DIFFS_ADAPTER(rank)	  (DIFFS_LISTED + 2 * ((rank)-1))
#define DIFFS_ADAPTER_TABLE(rank) (DIFFS_ADAPTER(rank) + 1)
#define DIFFS_FORMS		  (DIFFS_LISTED + 2 * DIFF_RANK_MOST)

/* What the name of a file ends in after that of the other model: "", ".tsv", ".svg",
 * ".lora-8.gguf", ".lora-8.tsv". Returns text. */
#define DIFFS_ENDING_MAX 16
const char *diffs_ending(diffs_form form, char text[DIFFS_ENDING_MAX]);

/* What stands beside the model: another of the mount; with base the model's own base; or with link
 * where that symbolic link leads. All is borrowed. */
struct diffs_other {
	const char *name;
	struct model *model; /* NULL: base or link */
	struct content *link;
};

struct diffs; /* any thread may use it */

/* All is borrowed. */
struct diffs_params {
	struct model *model;
	struct inodes *inodes;
	uint64_t samples;	   /* as in sampling.h */
	struct pool *pool;	   /* as struct diff_params */
	const atomic_bool *ending; /* the mount ends: who measures gives up */
};

/* NULL: out of memory. */
struct diffs *diffs_new(const struct diffs_params *params);
void diffs_free(struct diffs *diffs); /* NULL is fine */

/* The file as it is now, to release with inodes_put(); where a link leads to no model, it says why,
 * and there are no adapters (-ENOENT). NULL with *rc set to -errno, and a line in the log. */
struct inode *diffs_inode(struct diffs *diffs, const struct diffs_other *other, diffs_form form,
			  int *rc);

/* Does it have to be made, or a link to be looked at again? And its number, without making it; 0:
 * it has none yet. */
bool diffs_may_block(struct diffs *diffs, const struct diffs_other *other, diffs_form form);
uint64_t diffs_ino(struct diffs *diffs, const char *name, diffs_form form);

/* A link of that name is gone: the file that it led to is closed, also for processes that read its
 * difference yet. */
void diffs_remove(struct diffs *diffs, const char *name);

#endif

/* SPDX-License-Identifier: MIT */
/* model_files.h - a model in a mount, with what hangs from it. */
#ifndef FS_TREE_MODEL_FILES_H
#define FS_TREE_MODEL_FILES_H

#include "fs/model/model.h"
#include "fs/recipe/recipe_ancestry.h"
#include "fs/recipe/recipe_lineage.h"

struct model_files {
	struct model *model;
	struct memo *measures;
	struct tensor_hashes *hashes;
	struct tensor_losses *losses;
	struct assembly *assembly;
	struct free_space *space;	 /* on the filesystem of the base */
	struct generated *generated;	 /* the files made from its state */
	struct diffs *diffs;		 /* and those of .diff */
	struct shard_files *shards;	 /* and those of .views/shards */
	struct recipe_ancestry ancestry; /* of its base and donors */
	struct recipe_lineage lineage;
	struct shards *refused; /* of which no model could be made; NULL: none (shard_watch.h) */
	atomic_bool ending;	/* the mount ends: jobs for reads of them give up */
};

/* What a model's files have from the mount. All is borrowed. */
struct model_files_params {
	uint64_t samples;		/* values of a tensor that are looked at (sampling.h) */
	const char *output, *directory; /* as assembly_new() */
	bool lineage;			/* the assembled file says how it was made */
	bool confined;			/* as assembly_set_confined() */
	bool keep;			/* the assembled file stays open (assembly_keep()) */
	struct inodes *inodes;
	/* Threads to measure with, to hash and to encode with, and those that help readers of
	 * .diff. */
	struct pool *measurers, *hashers, *differs;
};

/* What there is of a model alone. Returns 0 or -ENOMEM; model_files_release() is due either way. */
int model_files_init(struct model_files *files, struct model *model,
		     const struct model_files_params *params);
void model_files_release(struct model_files *files);

/* Who has the place of model number i now, of all by their numbers. */
static inline struct model_files *model_files_current(struct model_files *all, uint32_t i)
{
	return &all[model_latest(all[i].model)->number];
}

#endif

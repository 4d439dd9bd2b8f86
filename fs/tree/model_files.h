/* SPDX-License-Identifier: MIT */
/* model_files.h - a model in a mount, with the objects that serve its files. */
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
	struct free_space *space;	 /* free space on the base's filesystem */
	struct generated *generated;	 /* generated files */
	struct diffs *diffs;		 /* files of .diff */
	struct shard_files *shards;	 /* files of .views/shards */
	struct recipe_ancestry ancestry; /* ancestry of the base and donors */
	struct recipe_lineage lineage;
	/* shards from which no model could be made (shard_watch.h); NULL: none */
	struct shards *refused;
	atomic_bool ending; /* the mount ends: jobs for readers give up */
};

/* Parameters from the mount. All pointers are borrowed. */
struct model_files_params {
	uint64_t samples;		/* values measured per tensor (sampling.h) */
	const char *output, *directory; /* as in assembly_new() */
	bool lineage;			/* the assembled file contains its lineage */
	bool confined;			/* as in assembly_set_confined() */
	bool keep;			/* keep the assembled file open (assembly_keep()) */
	struct inodes *inodes;
	/* Threads that measure, that hash and encode, and that serve readers of .diff. */
	struct pool *measurers, *hashers, *differs;
};

/* Initialise the objects. Returns 0 or -ENOMEM; call model_files_release() in either case. */
int model_files_init(struct model_files *files, struct model *model,
		     const struct model_files_params *params);
void model_files_release(struct model_files *files);

/* Files of the model that has the place of number i now; all is indexed by model number. */
static inline struct model_files *model_files_current(struct model_files *all, uint32_t i)
{
	return &all[model_latest(all[i].model)->number];
}

#endif

/* SPDX-License-Identifier: MIT */
/* mounted.h - a model in a mount, with what hangs from it. */
#ifndef FS_MOUNTED_H
#define FS_MOUNTED_H

#include "fs/files/assembly.h"
#include "fs/lazy/tensor_hashes.h"
#include "fs/lazy/tensor_measures.h"
#include "fs/storage/free_space.h"
#include "fs/tree/generated.h"

struct mounted {
	struct model *model;
	struct readings *readings;
	struct digests *digests;
	struct assembly *assembly;
	struct space *space; /* on the filesystem of the base */
	struct generated *generated; /* the files made from its state */
	struct shards *refused;	     /* of which no model could be made; NULL: none (arrivals.h) */
	atomic_bool ending;	     /* what is being made for them is not wanted any more */
};

/* What a model's files have from the mount. All is borrowed. */
struct mounted_site {
	uint64_t samples;		/* values of a tensor that are looked at (sampling.h) */
	const char *output, *directory; /* as assembly_new() */
	bool keep;			/* what is assembled stays open (assembly_keep()) */
	struct nodes *nodes;
	struct pool *measurers, *hashers; /* threads to measure and to hash with */
};

/* What there is of a model alone. Returns 0 or -ENOMEM; mounted_release() is due either way. */
int mounted_init(struct mounted *mounted, struct model *model, const struct mounted_site *site);
void mounted_release(struct mounted *mounted);

/* Who has the place of model number i now, of all by their numbers. */
static inline struct mounted *mounted_now(struct mounted *all, uint32_t i)
{
	return &all[model_now(all[i].model)->number];
}

#endif

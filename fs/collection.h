/* SPDX-License-Identifier: MIT */
/* collection.h - the models of a mount: what the command line names, files and directories. */
#ifndef FS_COLLECTION_H
#define FS_COLLECTION_H

#include "fs/model.h"

struct collection {
	struct model **models; /* by their numbers */
	uint32_t n;
	bool several;	   /* each has a directory in the root; else the only one is the root */
	struct log **logs; /* one a model, where there are several */
	struct frames_cache *cache;
};

/* Open the models of a command line. In a directory these are the files NAME.gguf in it and in the
 * directories in it, in the order of their names; those that are no models are passed over with a
 * line in the log. Returns 0, or -errno with err set, and in *culprit what of the command line it
 * is about, borrowed. collection_close() is due either way. */
int collection_open(struct collection *collection, const struct options *options, struct log *log,
		    const char **culprit, struct error *err);
void collection_close(struct collection *collection);

#endif

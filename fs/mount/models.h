/* SPDX-License-Identifier: MIT */
/* models.h - the models of a mount, opened from the files, directories and names of the command
 * line. */
#ifndef FS_MOUNT_MODELS_H
#define FS_MOUNT_MODELS_H

#include "fs/mount/merge_option.h"

#include <stdint.h>

struct shards;

struct models {
	struct model **models; /* by number; room for INODE_MODELS */
	uint32_t n;	       /* models of the command line, which come first */
	uint32_t n_all;	       /* these, and the models that replaced one */
	bool several; /* each model has a directory in the root; else the only model is the root */
	struct log **logs; /* one per model of the n, if there are several */
	struct zstd_cache *cache;
	struct remote_cache *remote;   /* of files on servers */
	struct merge_option merge;     /* of a configuration given as the only model */
	char *culprit;		       /* owner of *culprit if it is a URL without credentials */
	const struct options *options; /* borrowed */
	struct log *log;
};

/* Open the models of a command line. A directory stands for the files NAME.gguf in it and in its
 * subdirectories, in the order of their names; files that are no models are passed over with a line
 * in the log. Returns 0, or -errno with err set and *culprit, borrowed, the argument that failed.
 * The caller calls models_close(), also after an error. */
int models_open(struct models *models, const struct options *options, struct log *log,
		const char **culprit, struct error *err);
void models_close(struct models *models);

/* Does any model, an organ in it, or a model of its merge lie on a server? Call before the first
 * request. */
bool models_are_remote(const struct models *models);

/* Open a model of these shards to replace the old one. It gets a number, but does not replace the
 * old model yet. One caller at a time. NULL with err set: as model_open(), or EMFILE. */
struct model *models_open_replacement(struct models *models, struct model *old,
				      struct shards *shards, struct error *err);

/* Close the model that was opened last, and that no other thread knows yet. */
void models_discard(struct models *models, struct model *model);

/* Report, in the log and on standard error, the grafts of earlier mounts: their number and date,
 * and those that are not taken up. Grafts in a layer that the user named are reported only in the
 * log. Report also a directory to which the unmount could not write. Call before the mount exists,
 * since these paths may lie below the mount point. */
void models_announce(const struct models *models);

/* Report likewise the grafts of a model that replaces another one. */
void models_announce_grafts(struct model *model, const struct options *options);

#endif

/* SPDX-License-Identifier: MIT */
/* models.h - the models of a mount: what the command line names, files and directories. */
#ifndef FS_MOUNT_MODELS_H
#define FS_MOUNT_MODELS_H

#include "fs/mount/merge_option.h"

#include <stdint.h>

struct shards;

struct models {
	struct model **models; /* by their numbers; there is room for more */
	uint32_t n;	       /* that the command line named, which come first */
	uint32_t n_all;	       /* and those that took the place of one */
	bool several;	       /* each has a directory in the root; else the only one is the root */
	struct log **logs;     /* one a model of the n, where there are several */
	struct zstd_cache *cache;
	struct remote_cache *remote;   /* of what lies on servers */
	struct merge_option merge;     /* of a configuration that stands for the one model */
	char *culprit;		       /* a URL as it may be shown */
	const struct options *options; /* borrowed */
	struct log *log;
};

/* Open the models of a command line. In a directory these are the files NAME.gguf in it and in the
 * directories in it, in the order of their names; those that are no models are passed over with a
 * line in the log. Returns 0, or -errno with err set, and in *culprit what of the command line it
 * is about, borrowed. models_close() is due either way. */
int models_open(struct models *models, const struct options *options, struct log *log,
		const char **culprit, struct error *err);
void models_close(struct models *models);

/* Is one on a server, or an organ of one, or a model of its merge? To be called before requests
 * come. */
bool models_are_remote(const struct models *models);

/* One more model, of those shards, which is to take the place of the old one. It has a number, but
 * is in no other's place yet. One at a time. NULL with err set: as model_open(), or EMFILE. */
struct model *models_open_replacement(struct models *models, struct model *old,
				      struct shards *shards, struct error *err);

/* Close that model, the last one that came, which no other thread knows yet. */
void models_discard(struct models *models, struct model *model);

/* Say in the log, and on standard error, what of earlier mounts is in the model: how many grafts
 * and from when; or that there are some which it does not take up. Of the grafts in a directory
 * that the user named, only the log tells. Where nothing can be written beside the base that the
 * mount would write there, say so too. To be called before the mount is there: what is looked at
 * may lie where it comes. */
void models_announce(const struct models *models);

/* The same of the grafts of a model that takes another's place. */
void models_announce_grafts(struct model *model, const struct options *options);

#endif

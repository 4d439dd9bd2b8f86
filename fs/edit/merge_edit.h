/* SPDX-License-Identifier: MIT */
/* merge_edit.h - what a user may do to the merge of models beneath the grafts of a model. The order
 * is as in graft.h: checked, durable, visible, answered. A refusal leaves a line in the log.
 * merge_lookup.h says how models are opened. */
#ifndef FS_EDIT_MERGE_EDIT_H
#define FS_EDIT_MERGE_EDIT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct error;

/* Where a model lies that a configuration names. */
struct merge_found {
	const char *written;	   /* the name */
	const char *path;	   /* absolute */
	const struct model *model; /* NULL, or of the mount: then path is not looked at */
};

/* A configuration of mergekit (merge_config.h), and for whom it is put in force. All is
 * borrowed. */
struct merge_request {
	const char *text; /* size bytes */
	size_t size;
	const char *directories[2];  /* absolute, where names of models begin; NULL: none */
	struct model *const *models; /* of the mount, which names mean first */
	uint32_t n_models;
	const struct merge_found *found; /* n_found, which go before all that names mean */
	size_t n_found;
	uid_t uid;
	gid_t gid;
	bool report;		 /* on stderr too, for nothing is mounted yet */
	bool passing;		 /* it is not kept in the layer: the next mount begins without it */
	const atomic_bool *stop; /* when it becomes true, it is given up; NULL: it never does */
	/* Called before anything is changed, with the commit lock held: 0, or -errno with err set.
	 * NULL: there is nothing to check. */
	int (*check)(void *context, struct error *err);
	void *context; /* for check() */
};

/* Returns 0, or -errno, and what was in force stays: EINVAL it is none, or its models do not fit or
 * cannot be opened; EINTR; else what the disk said. */
int merge_edit_write(struct model *model, const struct merge_request *request);

/* No merge is in force any more. Returns 0, -ENOENT none is, else what the disk said. */
int merge_edit_end(struct model *model);

/* The same with the commit lock and that of experts held, once the layer has no merge any more:
 * none is a merge_ready_new_none(), which is used up. */
struct merge_ready;
void merge_edit_publish_end(struct model *model, struct merge_ready *none);

/* The same for a merge that the layer does not have, as its transaction was rolled back. */
int merge_edit_take_back(struct model *model);

/* Put in force what the layer holds: broken, until merge_edit_refresh() opens the models when the
 * mount is there. Returns 0, or -errno with err set: it cannot be told what it has for which slot,
 * so that none can be shown. */
int merge_edit_recover(struct model *model, struct error *err);

/* Try again to open the models of a merge that is broken, unless that took long a short while ago;
 * models are the n of the mount. Returns whether there was no answer from some. */
bool merge_edit_refresh(struct model *model, struct model *const *models, uint32_t n, bool hurried);

#endif

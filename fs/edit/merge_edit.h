/* SPDX-License-Identifier: MIT */
/* merge_edit.h - changes by a user of the merge of models beneath a model's grafts, in the order of
 * graft.h: checked, durable, visible, answered. A refusal leaves a line in the log. merge_lookup.h
 * opens the source models. */
#ifndef FS_EDIT_MERGE_EDIT_H
#define FS_EDIT_MERGE_EDIT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct error;

/* Location of a model that a configuration names. */
struct merge_found {
	const char *written;	   /* name in the configuration */
	const char *path;	   /* absolute */
	const struct model *model; /* a model of the mount, in place of path; or NULL */
};

/* A configuration of mergekit (merge_config.h) and its user. All fields are borrowed. */
struct merge_request {
	const char *text; /* size bytes */
	size_t size;
	const char *directories[2];  /* absolute, to resolve relative names; NULL: none */
	struct model *const *models; /* of the mount, looked up before files */
	uint32_t n_models;
	const struct merge_found *found; /* n_found locations, which precede all others */
	size_t n_found;
	uid_t uid;
	gid_t gid;
	bool report;	/* on stderr too, because the mount is not there yet */
	bool temporary; /* not recorded in the layer: the next mount starts without the merge */
	const atomic_bool *stop; /* give up when it becomes true; NULL: never */
	/* Last check before the change, called with the commit lock held: 0, or -errno with err
	 * set. NULL: none. */
	int (*check)(void *context, struct error *err);
	void *context; /* of check() */
};

/* Put a merge in force. Returns 0, or -errno with the previous state unchanged: EINVAL the text is
 * no configuration, or its models do not fit or cannot be opened; EINTR; else the disk's error. */
int merge_edit_write(struct model *model, const struct merge_request *request);

/* End the merge in force. Returns 0, -ENOENT if none is, else the disk's error. */
int merge_edit_end(struct model *model);

/* Publish the end of a merge that the layer has deleted already; uses up none, a
 * merge_ready_new_none(). The caller holds the commit lock. */
struct merge_ready;
void merge_edit_publish_end(struct model *model, struct merge_ready *none);

/* Like merge_edit_end(), for a merge that the layer lacks because its transaction was rolled
 * back. */
int merge_edit_take_back(struct model *model);

/* Take up the layer's merge, broken until merge_edit_refresh() opens the models after the mount.
 * Returns 0, or -errno with err set if the record is unreadable, so that the merge's tensors are
 * unknown and the model cannot be shown. */
int merge_edit_recover(struct model *model, struct error *err);

/* Try again to open the models of a broken merge, unless the last attempt was slow and is recent;
 * models are the n models of the mount. Returns true if some gave no answer. */
bool merge_edit_refresh(struct model *model, struct model *const *models, uint32_t n, bool hurried);

#endif

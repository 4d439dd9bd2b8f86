/* SPDX-License-Identifier: MIT */
/* merge_force.h - a merge of models put in force: it lies beneath the grafts of a model (slots.h).
 *
 * 1. It is prepared with all that can fail, made durable by the caller, and published in one step.
 * 2. A merged slot has a content of its own, a new one whenever a merge is published or the
 *    importance matrix changes.
 * 3. Where its models cannot be opened, its tensors are known from a note, and broken: they are
 *    never the base's instead.
 * 4. With adapters, what they make of slots is the caller's to refresh. */
#ifndef FS_MODEL_MERGE_FORCE_H
#define FS_MODEL_MERGE_FORCE_H

#include "measure/merge.h"

#include <stdatomic.h>
#include <sys/types.h>
#include <time.h>

struct error;
struct merge_plan;
struct model;

/* Of the merge that is in force. Does not change; counted. */
struct merge_state {
	atomic_uint refs;
	const char *method; /* by its name in a configuration */
	char *note;	    /* merge_note.h */
	char *text;	    /* the configuration, as it was written; size bytes */
	size_t size;
	size_t n_models; /* that it names, each once */
	struct merge_note_model *models;
	struct base *bases; /* of these, open; file NULL: the model's own base, or it is broken */
	uint32_t made;	    /* tensors that are made when they are read */
	uint32_t converted; /* of these, of another type than the base's */
	uint32_t passed;    /* that are one model's, as they are */
	uint32_t gone;	    /* that the result has not */
	uint64_t bytes;	    /* of the first two */
	struct timespec mtime;
	uid_t uid; /* with whose rights models are opened */
	gid_t gid;
	char *tokenizer; /* the path of a model with another tokenizer; NULL: there is none */
	char *broken;	 /* NULL, or why models cannot be opened */
};

/* What is in force, to release; NULL: none is. Any thread may ask. */
struct merge_state *merge_force_get(struct model *model);
void merge_state_unref(struct merge_state *state); /* NULL is fine */

/* Could models of it not be opened, so that it is worth while to try again? */
bool merge_force_broken(struct model *model);

/* As a user wrote it, and when. */
struct merge_request_state {
	const char *text; /* size bytes */
	size_t size;
	struct timespec mtime;
	uid_t uid;
	gid_t gid;
};

struct merge_ready; /* prepared to be published, or freed */

/* With the commit lock held, or before the mount, as all below. The merge of a plan for the model,
 * by that method; the plan's models become the merge's, unless it fails. NULL with err
 * set: ENOMEM, ENOSPC, EINVAL. */
struct merge_ready *merge_ready_new(struct model *model, struct merge_plan *plan,
				    enum merge_method method,
				    const struct merge_request_state *request, struct error *err);

/* The merge that a note tells of, which is used up, also on failure, and whose models cannot be
 * opened, for that reason. */
struct merge_ready *merge_ready_new_broken(struct model *model, char *note, const char *why,
					   const struct merge_request_state *request,
					   struct error *err);

/* That there is none. */
struct merge_ready *merge_ready_new_none(struct model *model, struct error *err);
void merge_ready_free(struct merge_ready *ready); /* NULL is fine */

/* What the layer is to keep of it; NULL: there is no merge. Borrowed. */
const char *merge_ready_note(const struct merge_ready *ready);

/* From now on that is in force. Uses ready up. */
void merge_force_publish(struct model *model, struct merge_ready *ready);

/* Encode the results of the merge in force, if there is one, with the weights of the importance
 * matrix in force. Returns 0, or -ENOMEM: some have the weights of before. */
int merge_force_weigh(struct model *model);

#endif

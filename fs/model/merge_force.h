/* SPDX-License-Identifier: MIT */
/* merge_force.h - a merge of models in force: its results lie beneath the grafts of a model
 * (slots.h).
 *
 * 1. A merge is prepared with all steps that can fail, made durable by the caller, and published in
 *    one step.
 * 2. A merged slot has a content of its own, replaced whenever a merge is published or the
 *    importance matrix changes.
 * 3. If the source models cannot be opened, the tensors are known from a note and broken; the slots
 *    never fall back to the base.
 * 4. With adapters, the caller refreshes the contents that they produce. */
#ifndef FS_MODEL_MERGE_FORCE_H
#define FS_MODEL_MERGE_FORCE_H

#include "measure/merge.h"

#include <stdatomic.h>
#include <sys/types.h>
#include <time.h>

struct error;
struct merge_plan;
struct model;

/* The merge in force. Immutable and reference-counted. */
struct merge_state {
	atomic_uint refs;
	const char *method; /* name in a configuration */
	char *note;	    /* merge_note.h */
	char *text;	    /* configuration as written; size bytes */
	size_t size;
	size_t n_models; /* models named by it, each once */
	struct merge_note_model *models;
	struct base *bases; /* the models, open; file NULL: the model's own base, or broken */
	uint32_t made;	    /* tensors computed at each read */
	uint32_t converted; /* computed tensors with another type than the base's */
	uint32_t passed;    /* tensors taken unchanged from one model */
	uint32_t gone;	    /* tensors that the result lacks */
	uint64_t bytes;	    /* of computed and unchanged tensors */
	struct timespec mtime;
	uid_t uid; /* user whose rights open the models */
	gid_t gid;
	char *tokenizer;     /* path of a model with another tokenizer, or NULL */
	char *chat_template; /* of the result; NULL: the base's */
	char *broken;	     /* reason why models cannot be opened, or NULL */
};

/* Merge in force, to release; NULL: none. Any thread may call it. */
struct merge_state *merge_force_get(struct model *model);
void merge_state_unref(struct merge_state *state);		   /* NULL is fine */
const char *merge_state_template(const struct merge_state *state); /* likewise */

/* Is the merge in force broken, so that another attempt is worth while? */
bool merge_force_broken(struct model *model);

/* A configuration that a user wrote, and its time. */
struct merge_request_state {
	const char *text; /* size bytes */
	size_t size;
	struct timespec mtime;
	uid_t uid;
	gid_t gid;
};

struct merge_ready; /* a prepared merge, to publish or free */

/* Prepare the merge of a plan, by that method. Takes over the plan's models on success. NULL with
 * err set: ENOMEM, ENOSPC, EINVAL. The caller holds the commit lock, or the model is not mounted
 * yet; also for all functions below. */
struct merge_ready *merge_ready_new(struct model *model, struct merge_plan *plan,
				    enum merge_method method,
				    const struct merge_request_state *request, struct error *err);

/* Prepare a merge from its note, broken because its models cannot be opened, for the reason in
 * `why`. Modifies note. */
struct merge_ready *merge_ready_new_broken(struct model *model, char *note, const char *why,
					   const struct merge_request_state *request,
					   struct error *err);

/* Prepare the end of the merge in force. */
struct merge_ready *merge_ready_new_none(struct model *model, struct error *err);
void merge_ready_free(struct merge_ready *ready); /* NULL is fine */

/* Note for the layer, borrowed; NULL: no merge. */
const char *merge_ready_note(const struct merge_ready *ready);

/* Put ready in force and free it. */
void merge_force_publish(struct model *model, struct merge_ready *ready);

/* Encode the results of the merge in force, if there is one, with the weights of the importance
 * matrix in force. Returns 0, or -ENOMEM: some results keep the previous weights. */
int merge_force_weigh(struct model *model);

#endif

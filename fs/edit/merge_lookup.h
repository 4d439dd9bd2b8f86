/* SPDX-License-Identifier: MIT */
/* merge_lookup.h - the models that the configuration of a merge names, found and opened. They are
 * opened as links are followed (symlinks.h): with the rights of the user who wrote the
 * configuration, by threads that a request waits for a limited time, and never through this
 * mount. */
#ifndef FS_EDIT_MERGE_LOOKUP_H
#define FS_EDIT_MERGE_LOOKUP_H

#include "fs/model/merge_force.h"

#include <stdbool.h>
#include <stdint.h>

struct base;
struct merge_request;

/* All is borrowed. */
struct merge_lookup {
	struct model *model;
	const struct merge_request *request; /* of a new merge */
	const struct merge_state *again;     /* whose models are at its paths; NULL: a new merge */
	struct model *const *models;	     /* of the mount, n_models of them */
	uint32_t n_models;
	struct merge_request_state of; /* the text, and its owner, who opens the models */
	bool hurried;		       /* there was no answer the last time either */
	bool silent;		       /* there was no answer from a model */
};

/* Open a model of the lookup, a merge_open_model() of merge_plan.h. */
int merge_lookup_open(void *lookup, const char *written, struct base *base, char **path,
		      struct error *err);

#endif

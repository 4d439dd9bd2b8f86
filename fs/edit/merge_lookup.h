/* SPDX-License-Identifier: MIT */
/* merge_lookup.h - finds and opens the models named by a merge's configuration, as links are
 * followed (symlinks.h): with the rights of the user who wrote the configuration, by threads for
 * which a request waits a limited time, and never through this mount. */
#ifndef FS_EDIT_MERGE_LOOKUP_H
#define FS_EDIT_MERGE_LOOKUP_H

#include "fs/model/merge_force.h"

#include <stdbool.h>
#include <stdint.h>

struct base;
struct merge_request;

/* All fields are borrowed. */
struct merge_lookup {
	struct model *model;
	const struct merge_request *request; /* of a new merge */
	/* merge in force whose models are opened again; NULL: a new merge */
	const struct merge_state *again;
	struct model *const *models; /* n_models models of the mount */
	uint32_t n_models;
	struct merge_request_state of; /* the text and its owner, whose rights open the models */
	bool hurried;		       /* the last attempt got no answer */
	bool silent;		       /* a model gave no answer */
};

/* Open a model of the lookup, a merge_open_model() of merge_plan.h. */
int merge_lookup_open(void *lookup, const char *written, struct base *base, char **path,
		      struct error *err);

#endif

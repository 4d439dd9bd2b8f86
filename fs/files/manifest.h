/* SPDX-License-Identifier: MIT */
/* manifest.h - manifest.json: the anatomy of a model as one JSON object. */
#ifndef FS_FILES_MANIFEST_H
#define FS_FILES_MANIFEST_H

#include <stdio.h>

struct memo;
struct model;
struct snapshot;
struct view;

/* The manifest with the slots of that snapshot. It is valid JSON whatever bytes the model holds:
 * see json_value.h. Tensors stand one a line, in file order, each with its Z-measure, which is made
 * when its line is read. NULL: out of memory. */
struct view *manifest_view(struct model *model, struct memo *measures,
			   const struct snapshot *snapshot);

/* Print what the manifest says of a model as a whole, as it is now, as one JSON object with the
 * name of its directory: for a list of several. Returns 0 or -ENOMEM. */
int manifest_print_model(struct model *model, FILE *out);

#endif

/* SPDX-License-Identifier: MIT */
/* manifest.h - manifest.json: the anatomy of a model as one JSON object. */
#ifndef FS_FILES_MANIFEST_H
#define FS_FILES_MANIFEST_H

#include <stdio.h>

struct memo;
struct model;
struct snapshot;
struct view;

/* The manifest of the snapshot, valid JSON for any bytes (json_value.h). Each tensor has one line,
 * in file order, with its Z-measure, computed when the line is read. NULL: out of memory. */
struct view *manifest_view(struct model *model, struct memo *measures,
			   const struct snapshot *snapshot);

/* Print the manifest's object of the current model as a whole, plus the name of its directory: an
 * element of a list of models. Returns 0 or -ENOMEM. */
int manifest_print_model(struct model *model, FILE *out);

#endif

/* SPDX-License-Identifier: MIT */
/* snapshot.h - a model at one moment. */
#ifndef FS_MODEL_SNAPSHOT_H
#define FS_MODEL_SNAPSHOT_H

#include <stdint.h>

struct model;

struct snapshot {
	uint64_t generation;
	uint32_t n, grafts;		  /* slots; those that are not as in the base */
	struct metadata_edits *edits;	  /* of the metadata; NULL: of the slots alone */
	struct adapter_list *adapters;	  /* in force (adapters.h); NULL: of the slots alone */
	struct content **content;	  /* n of them, as they are shown; NULL for the base's */
};

/* All of the model: the slots with the edits of the metadata and the adapters, which count as
 * grafts, and in the generation. Returns 0 or -ENOMEM. Release with snapshot_release(). */
int model_snapshot(struct model *model, struct snapshot *snapshot);
void snapshot_release(struct snapshot *snapshot);

#endif

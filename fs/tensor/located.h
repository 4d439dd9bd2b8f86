/* SPDX-License-Identifier: MIT */
/* located.h - an organ, and where its data lie. */
#ifndef FS_TENSOR_LOCATED_H
#define FS_TENSOR_LOCATED_H

#include "fs/storage/view.h"
#include "gguf/organ.h"

/* All is borrowed. */
struct organ_location {
	struct organ organ;
	struct backing *file;
	uint64_t offset; /* of the data in it, in bytes */
};

/* Its organ file. NULL: no memory. */
struct view *organ_location_view(const struct organ_location *located);

#endif

/* SPDX-License-Identifier: MIT */
/* checksums.h - checksums.xxh128: the XXH128 of every organ file, a line each, as `xxhsum -c` reads
 * them. The hashes are made when they are read, and their width is known. */
#ifndef FS_FILES_CHECKSUMS_H
#define FS_FILES_CHECKSUMS_H

#include "fs/lazy/tensor_hashes.h"
#include "fs/storage/view.h"

/* The lines of the organs in force, by class and in it as in its table:
 *
 *	HASH  CLASS/NAME.bin
 *
 * Names of organ files hold nothing that xxhsum would have escaped. NULL: out of memory. */
struct view *checksums_view(struct model *model, struct tensor_hashes *hashes,
			    const struct snapshot *snapshot);

#endif

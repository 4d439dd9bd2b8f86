/* SPDX-License-Identifier: MIT */
/* metadata_internal.h - what metadata.c and metadata_entry.c share. */
#ifndef FS_METADATA_METADATA_INTERNAL_H
#define FS_METADATA_METADATA_INTERNAL_H

#include "fs/metadata/metadata.h"

/* The value of entry number i of a base. NULL: out of memory. */
struct metadata_entry *metadata_entry_of_base(struct backing *base, const struct gguf *gguf,
					      uint32_t i);

#endif

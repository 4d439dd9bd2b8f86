/* SPDX-License-Identifier: MIT */
/* layer_checksums.h - the XXH128 of each organ file in a layer, as its neighbour FILE.xxh128:
 *
 *	HASH  CLASS/NAME.bin
 *
 * The hash is of the organ's bytes, uncompressed, so that in the layer
 * `xxhsum -c CLASS/NAME.bin.xxh128` checks an organ that is kept as it is.
 *
 * It lies beside the organ so that one fsync() of the directory makes both durable. The file before
 * it is set aside first and the new one comes last, so that in between an organ has none, and never
 * another's. Its bytes are not waited for: what a power cut leaves empty or torn counts as none. */
#ifndef FS_LAYER_LAYER_CHECKSUMS_H
#define FS_LAYER_LAYER_CHECKSUMS_H

#include "fs/util/hash_text.h"
#include "gguf/anatomy.h"

struct layer;

#define LAYER_CHECKSUM_SUFFIX ".xxh128"

/* Write it to a new file in the stage. Returns 0 or -errno; then there is none. */
int layer_checksum_write(struct layer *layer, const char *staged, const char *xxh128,
			 enum organ_class klass, const char *name);

/* Read that of a file of the class. 1, or 0: there is none, or nothing that is one; -errno where
 * layer_is_unread(). */
int layer_checksum_read(int dir, const char *file, char xxh128[XXH128_TEXT]);

#endif

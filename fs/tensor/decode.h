/* SPDX-License-Identifier: MIT */
/* decode.h - the values of a tensor on disk, as float32. */
#ifndef FS_TENSOR_DECODE_H
#define FS_TENSOR_DECODE_H

#include "fs/storage/backing.h"

/* A backing of the values of a tensor, float32 in the processor's order, decoded block by block
 * when they are read. The tensor's blocks begin at offset of file, of which it takes a reference;
 * dequant_supported(type), and elements are whole blocks. NULL: out of memory, or more than a file
 * may have. */
struct backing *decode_new(struct backing *file, uint64_t offset, uint32_t type, uint64_t elements);

/* n consecutive blocks of that type from number first on, decoded to n * block_elements values,
 * with scratch memory of DECODE_SCRATCH bytes. flags: as backing_read_with(). Returns 0 or as
 * backing_read(). */
#define DECODE_SCRATCH ((size_t)1 << 17)
int decode_read(struct backing *file, uint64_t offset, uint32_t type, unsigned flags,
		uint64_t first, uint64_t n, void *scratch, float *values);

#endif

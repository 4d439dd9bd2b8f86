/* SPDX-License-Identifier: MIT */
/* checksums.h - hashes of every organ file, as `xxhsum -c` reads them, and of a model's data. They
 * are computed when they are read; their width is known before. */
#ifndef FS_FILES_CHECKSUMS_H
#define FS_FILES_CHECKSUMS_H

#include <stdatomic.h>

struct model;
struct snapshot;
struct tensor_hashes;
struct view;

/* checksums.xxh128: the XXH128 of each organ in force, one line each, by class and in the order of
 * the class's table:
 *
 *	HASH  CLASS/NAME.bin
 *
 * Names of organ files have no bytes that xxhsum would escape. NULL: out of memory. */
struct view *checksums_view(struct model *model, struct tensor_hashes *hashes,
			    const struct snapshot *snapshot);

/* .views/gguf-hash.xxh64: the output of `llama-gguf-hash --xxh64 model.gguf` for the assembled
 * model, without a read through the mount (llama.cpp examples/gguf-hash/gguf-hash.cpp). A line for
 * each tensor of the snapshot, in the order of model.gguf, with the XXH64 of its data; then, unless
 * the model lacks shards, one with the XXH64 of the data of all tensors in sequence:
 *
 *	xxh64     HASH  model.gguf:TENSOR
 *	xxh64     HASH  model.gguf
 *
 * Control bytes of a tensor's name are percent-encoded, so that it is one line. A waiting read gets
 * -EINTR soon after *ending becomes true; ending may be NULL. NULL: out of memory. */
struct view *checksums_gguf_hash(struct model *model, struct tensor_hashes *hashes,
				 const struct snapshot *snapshot, const atomic_bool *ending);

#endif

/* SPDX-License-Identifier: MIT */
/* checksums.h - the hashes of every organ file, as `xxhsum -c` reads them, and those of a model's
 * data. They are made when they are read, and their width is known. */
#ifndef FS_FILES_CHECKSUMS_H
#define FS_FILES_CHECKSUMS_H

#include <stdatomic.h>

struct model;
struct snapshot;
struct tensor_hashes;
struct view;

/* checksums.xxh128: the XXH128 of the organs in force, a line each, by class and in it as in its
 * table:
 *
 *	HASH  CLASS/NAME.bin
 *
 * Names of organ files hold nothing that xxhsum would have escaped. NULL: out of memory. */
struct view *checksums_view(struct model *model, struct tensor_hashes *hashes,
			    const struct snapshot *snapshot);

/* .views/gguf-hash.xxh64: what `llama-gguf-hash --xxh64 model.gguf` prints of the assembled model,
 * without reading it through the mount. A line for each tensor of that snapshot, in the order in
 * which model.gguf describes them, with the XXH64 of its data; then, unless the model lacks shards,
 * one with that of the data of all, one after another (llama.cpp examples/gguf-hash/gguf-hash.cpp):
 *
 *	xxh64     HASH  model.gguf:TENSOR
 *	xxh64     HASH  model.gguf
 *
 * A tensor's name stands as it is; only its control bytes are percent-encoded, so that it is one
 * line. When *ending becomes true, which may be NULL, a read that waits soon gets -EINTR. NULL: out
 * of memory. */
struct view *checksums_gguf_hash(struct model *model, struct tensor_hashes *hashes,
				 const struct snapshot *snapshot, const atomic_bool *ending);

#endif

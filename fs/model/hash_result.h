/* SPDX-License-Identifier: MIT */
/* hash_result.h - the places where the hashes of one content are kept. Everything in it belongs to
 * tensor_hashes.h. */
#ifndef FS_MODEL_HASH_RESULT_H
#define FS_MODEL_HASH_RESULT_H

#include "fs/model/memo_state.h"

#include <xxhash.h>

enum hash_kind {
	HASH_FILE, /* XXH128 of the organ file, as `xxhsum -H2` has it */
	HASH_DATA, /* XXH64 of the tensor's data, as llama-gguf-hash has it */
	HASH_KINDS,
};

/* Zeros are a digest that nobody has asked for. */
struct hash_result {
	struct memo_state once;
	XXH128_hash_t hash; /* of 64 bits: in low64 */
};

#endif

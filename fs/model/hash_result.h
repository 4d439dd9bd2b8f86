/* SPDX-License-Identifier: MIT */
/* digest.h - the places where the hashes of one content are kept. Everything in it belongs to
 * digests.h. */
#ifndef FS_DIGEST_H
#define FS_DIGEST_H

#include "fs/model/memo_state.h"

#include <xxhash.h>

enum digest_kind {
	DIGEST_FILE, /* XXH128 of the organ file, as `xxhsum -H2` has it */
	DIGEST_DATA, /* XXH64 of the tensor's data, as llama-gguf-hash has it */
	DIGEST_KINDS,
};

/* Zeros are a digest that nobody has asked for. */
struct digest {
	struct once once;
	XXH128_hash_t hash; /* of 64 bits: in low64 */
};

#endif

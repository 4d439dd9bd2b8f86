/* SPDX-License-Identifier: MIT */
/* results.h - the places where what is found out once of a content is kept. Zeros: it was not asked
 * for yet. All in struct memo_state belongs to memo.h, the rest to tensor_measures.h and
 * tensor_hashes.h. */
#ifndef FS_MODEL_RESULTS_H
#define FS_MODEL_RESULTS_H

#include "measure/zmeasure.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <xxhash.h>

enum memo_phase {
	MEMO_NONE,
	MEMO_PENDING, /* a job for it is queued or runs */
	MEMO_DONE,
};

/* The first member of a structure that holds the result. */
struct memo_state {
	enum memo_phase state;
	uint64_t begun;	      /* whose asking began the job: the how-manieth */
	int error;	      /* MEMO_DONE: 0 or -errno */
	unsigned waiting;     /* requests that want it */
	atomic_bool unwanted; /* there were such and there is none now: its job gives up */
};

/* The Z-measure. */
struct measure_result {
	struct memo_state once;
	struct zmeasure result;
};

enum hash_kind {
	HASH_FILE, /* XXH128 of the organ file, as `xxhsum -H2` has it */
	HASH_DATA, /* XXH64 of the tensor's data, as llama-gguf-hash has it */
	HASH_KINDS,
};

struct hash_result {
	struct memo_state once;
	XXH128_hash_t hash; /* of 64 bits: in low64 */
};

#endif
